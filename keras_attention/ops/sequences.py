"""Scores of whole sequences, one query at a time to save memory."""

import math

from keras import ops

from keras_attention.ops.numerics import widen
from keras_attention.ops.replay import trainable_loop

FEW = 2**22  # size of the largest table: 16 MiB in float32


def score_one_by_one(layer, query, keys):
    """Compute scores, query by query if their table would be large.

    A score that compares all features of all pairs computes a table
    `(B, Tq, Tv, U)`. One of up to 2^22 numbers is computed at once. Instead
    of a larger one, a loop over the queries computes one slice at a time and
    keeps only the scores; its gradient computes each slice again. Some export
    formats do not support this loop.

    Args:
        layer: What has `score`, a function from queries `(B, Tq, U)` and
            `keys` to scores `(B, Tq, Tv)`, and the `variables` it reads.
        query: `(B, Tq, U)`.
        keys: `(B, Tv, D)`.

    Returns:
        Scores `(B, Tq, Tv)`, in float32 or wider.
    """

    def at_once():
        return widen(layer.score(query, keys))

    def in_order():
        return _in_order(layer, query, keys)

    rows, queries, size = ops.shape(query)
    sizes = rows, queries, ops.shape(keys)[1], size
    if all(isinstance(n, int) for n in sizes):
        return in_order() if math.prod(sizes) > FEW else at_once()
    total = 1.0  # a float: an int32 could overflow
    for n in sizes:
        total = total * ops.cast(n, "float32")
    return ops.cond(total > FEW, in_order, at_once)


def _in_order(layer, query, keys):
    def step(layer, carry, inputs, keys):
        (one,) = inputs
        scores = layer.score(ops.expand_dims(one, 1), keys)
        return carry, [ops.squeeze(widen(scores), axis=1)]

    query = ops.swapaxes(query, 0, 1)  # (Tq, B, U)
    steps, rows = ops.shape(query)[:2]
    blank = [widen(ops.zeros((rows, ops.shape(keys)[1]), keys.dtype))]
    _, (scores,) = trainable_loop(step, [], [query], blank, steps, layer, keys)
    return ops.swapaxes(scores, 0, 1)
