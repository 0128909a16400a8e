"""Loops over queries, for layers with a state and for large tables."""

import math
from collections.abc import Callable

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.ops import freeze
from keras_attention.ops import loop_over_time
from keras_attention.ops import masked_loop
from keras_attention.ops import widen

FEW = 2**22  # size of the largest table of pairs: 16 MiB in float32


def attend_in_order(
    attend: Callable,
    query,
    memory,
    mask,
    state,
    noise,
    features: int,
    heads: int | None = None,
    real=None,
) -> tuple:
    """Attend query by query, and carry the state from step to step.

    A masked query leaves the state unchanged, like a masked decoder step.

    Args:
        attend: Function from one step's query `(B, 1, Dq)`, the memory, the
            step's mask `(B, 1, Tv)`, state and noise to the context, the
            weights `(B, 1, Tv)`, or `(B, H, 1, Tv)` of heads, and the next
            state.
        query: `(B, Tq, Dq)`.
        memory: The prepared source.
        mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.
        state: The initial state, a tuple of tensors `(B, 1, ...)`.
        noise: Noise of all steps, with time on axis 0, or `None`.
        features: Size `D` of the context.
        heads: The number `H` of heads, or `None` for weights without that
            axis. Defaults to `None`.
        real: Boolean `(B, Tq)`, `True` at valid queries. Defaults to `None`,
            all queries.

    Returns:
        Context `(B, Tq, D)` and weights `(B, Tq, Tv)`, or `(B, H, Tq, Tv)`.
    """
    query = ops.swapaxes(query, 0, 1)  # (Tq, B, Dq)
    steps, batch = ops.shape(query)[:2]
    words = ops.shape(memory.values)[1]
    rows = words * (heads or 1)
    if mask is not None:
        mask = ops.broadcast_to(mask, (batch, steps, words))
        mask = ops.swapaxes(mask, 0, 1)

    def step(before, inputs):
        query, visible, noise, real = inputs
        if visible is not None:
            visible = ops.expand_dims(visible, 1)
        context, weights, state = attend(
            ops.expand_dims(query, 1), memory, visible, before, noise
        )
        weights = ops.reshape(weights, (batch, rows))
        both = ops.concatenate([context[:, 0], weights], axis=-1)
        return freeze(real, state, before), [both]

    # One output for both: TensorFlow cannot write weights of an empty source.
    blank = [ops.zeros((batch, features + rows), memory.values.dtype)]
    if real is not None:
        real = ops.swapaxes(real, 0, 1)
    inputs = [query, mask, noise, real]
    _, (both,) = loop_over_time(step, state, inputs, blank, steps)
    both = ops.swapaxes(both, 0, 1)
    context, weights = both[..., :features], both[..., features:]
    if heads is not None:
        weights = ops.reshape(weights, (batch, steps, heads, words))
        weights = ops.swapaxes(weights, 1, 2)
    return context, weights


def score_one_by_one(layer, query, keys):
    """Compute scores; query by query if the table of pairs is large.

    A score that compares all features of all pairs computes a table `(B, Tq,
    Tv, U)`. A table of up to 2^22 numbers is computed at once. For a larger
    table, a loop over the queries computes one slice at a time and keeps only
    the scores; its gradient recomputes each slice. Some export formats do not
    support this loop.

    Args:
        layer: An object with `score`, a function from queries `(B, Tq, U)` and
            `keys` to scores `(B, Tq, Tv)`, and the `variables` it reads.
        query: `(B, Tq, U)`.
        keys: `(B, Tv, D)`.

    Returns:
        Scores `(B, Tq, Tv)`, in float32 or wider.
    """

    def at_once():
        return widen(layer.score(query, keys))

    def in_order():
        every = ops.swapaxes(query, 0, 1)  # (Tq, B, U)
        steps, rows = ops.shape(every)[:2]
        blank = [widen(ops.zeros((rows, ops.shape(keys)[1]), keys.dtype))]
        _, (scores,) = masked_loop(
            backend.recomputed(_score_one),
            [],
            [every],
            None,
            blank,
            steps,
            layer,
            keys,
        )
        return ops.swapaxes(scores, 0, 1)

    rows, queries, size = ops.shape(query)
    sizes = rows, queries, ops.shape(keys)[1], size
    if all(isinstance(n, int) for n in sizes):
        return in_order() if math.prod(sizes) > FEW else at_once()
    total = 1.0  # a float: an int32 could overflow
    for n in sizes:
        total = total * ops.cast(n, "float32")
    return ops.cond(total > FEW, in_order, at_once)


def _score_one(layer, carry, inputs, keys):
    (query,) = inputs
    scores = layer.score(ops.expand_dims(query, 1), keys)
    return carry, [ops.squeeze(widen(scores), axis=1)]
