"""Drawing tokens at random from a model's distribution."""

from keras import ops

from keras_attention.ops.rows import at_most
from keras_attention.ops.tokens import pick

LARGEST = 2**31 - 1


def draw_tokens(
    log_probs,
    luck,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
):
    """Draw tokens from a distribution, whole or cut.

    Args:
        log_probs: `(B, K, V)`, in float32 or wider.
        luck: `(B, K, 1)`, random numbers, uniform from 0 to below 1.
        temperature: As in `Sampling`.
        top_k: As in `Sampling`.
        top_p: As in `Sampling`.

    Returns:
        Tokens `(B, K)`, int32.
    """
    ids = None
    if top_k is not None or top_p is not None:
        count = ops.shape(log_probs)[-1]
        if top_k is not None:
            count = at_most(top_k, log_probs)
        log_probs, ids = ops.top_k(log_probs, count)
    # The likeliest at 0, so that a small temperature overflows nothing.
    scores = log_probs - ops.top_k(log_probs, 1)[0]
    temperature = ops.convert_to_tensor(temperature, scores.dtype)
    parts = ops.exp(scores / temperature)  # not normalized
    sums = ops.cast(ops.cumsum(parts, axis=-1), parts.dtype)
    real = ops.greater(parts, 0)
    if top_p is not None and top_p < 1:
        before = sums - parts
        real = ops.logical_and(real, before < top_p * sums[..., -1:])
    count = ops.shape(log_probs)[-1]
    places = ops.arange(count, dtype="int32")
    # `initial`, since a batch may be empty.
    options = {"axis": -1, "keepdims": True, "initial": 0}
    last = ops.max(ops.where(real, places, 0), **options)
    total = ops.max(ops.where(real, sums, 0.0), **options)
    # A rounded product may reach the total, and a rounded sum may rise where
    # 0 is added: only a real token is taken, the last if no sum is above.
    above = ops.greater(sums, ops.cast(luck, parts.dtype) * total)
    above = ops.logical_and(real, above)
    drawn = ops.where(above, places, last)
    drawn = ops.min(drawn, axis=-1, initial=LARGEST)
    return drawn if ids is None else ops.cast(pick(ids, drawn), "int32")
