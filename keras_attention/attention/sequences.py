"""Attention with a state over a sequence of queries, step by step."""

from collections.abc import Callable

from keras import ops

from keras_attention.ops import loop_over_time


def attend_in_order(
    attend: Callable,
    query,
    memory,
    mask,
    state,
    noise,
    features: int,
    heads: int | None = None,
) -> tuple:
    """Attend query by query, and carry the state from step to step.

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

    def step(state, inputs):
        one, visible, drawn = inputs
        if visible is not None:
            visible = ops.expand_dims(visible, 1)
        context, weights, state = attend(
            ops.expand_dims(one, 1), memory, visible, state, drawn
        )
        weights = ops.reshape(weights, (batch, rows))
        both = ops.concatenate([context[:, 0], weights], axis=-1)
        return list(state), [both]

    # One output for both: TensorFlow cannot write weights of an empty source.
    blank = [ops.zeros((batch, features + rows), memory.values.dtype)]
    inputs = [query, mask, noise]
    _, (both,) = loop_over_time(step, state, inputs, blank, steps)
    both = ops.swapaxes(both, 0, 1)
    context, weights = both[..., :features], both[..., features:]
    if heads is not None:
        weights = ops.reshape(weights, (batch, steps, heads, words))
        weights = ops.swapaxes(weights, 1, 2)
    return context, weights
