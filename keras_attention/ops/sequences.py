"""Additive scores of whole sequences, in the memory of one query."""

import contextlib
import math

from keras import ops

from keras_attention.ops.additive import ADDITIVE_SCORES
from keras_attention.ops.additive import additive_scores
from keras_attention.ops.operations import recording
from keras_attention.ops.replay import trainable_loop

FEW = 2**22  # numbers that may be there at once: 16 MiB in float32


def one_by_one(training=None):
    """Score one query after the other in a `with` block, if they are many.

    The `tanh` of all pairs `(B, Tq, Tv, U)` then never exists: a loop over
    the queries keeps the scores alone, and its gradient takes every `tanh`
    again. Not every export knows such a loop.

    Args:
        training: `False` scores all at once. Defaults to `None`.
    """
    if training is False:
        return contextlib.nullcontext()
    return recording(_OneByOne())


class _OneByOne:
    """Performs every operation by itself, but additive scores in a loop."""

    def hoist(self, function, *constants):
        return function(*constants)

    def perform(self, operation, x, *constants):
        if operation is not ADDITIVE_SCORES:
            return operation.run(x, *constants)

        def at_once():
            return operation.run(x, *constants)

        def in_order():
            return _in_order(x, *constants)

        rows, queries, units = ops.shape(x)
        words = ops.shape(constants[0])[1]
        sizes = rows, queries, words, units
        known = all(isinstance(n, int) for n in sizes)
        if known:
            return in_order() if math.prod(sizes) > FEW else at_once()
        total = 1.0  # a float, which many numbers do not overflow
        for n in sizes:
            total = total * ops.cast(n, "float32")
        return ops.cond(total > FEW, in_order, at_once)


def _in_order(query, keys, vector):
    def step(carry, inputs, constants):
        (one,) = inputs
        scores = additive_scores(ops.expand_dims(one, 1), *constants)
        return carry, [ops.squeeze(scores, axis=1)]

    query = ops.swapaxes(query, 0, 1)  # (Tq, B, U)
    steps, rows = ops.shape(query)[:2]
    blank = [ops.zeros((rows, ops.shape(keys)[1]), keys.dtype)]
    with recording(None):  # one query is no sequence
        _, (scores,) = trainable_loop(
            step, [], [query], blank, steps, [], (keys, vector)
        )
    return ops.swapaxes(scores, 0, 1)
