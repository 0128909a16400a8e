"""Coverage loss: a penalty for attending to the same positions again."""

from keras import ops

from keras_attention.ops.cumulative import running_sum
from keras_attention.ops.numerics import widen
from keras_attention.ops.replicas import sum_over_replicas


def coverage_loss(weights, mask=None):
    """Compute the coverage loss: how far weights repeat earlier ones.

    Formula:

        loss = mean over real steps t of sum_j min(a[t, j], c[t, j])
        c[t] = a[0] + ... + a[t - 1], over real steps

    It is 0 if no position is attended to twice, and at most 1. The mean is
    over the rows of all replicas of a strategy. For Keras' trainer, which
    divides what `add_loss` gets by their number, each has the whole of it.

    Args:
        weights: `(B, T, Tv)`, such as `AttentionDecoder` returns.
        mask: Boolean `(B, T)`, `True` at real steps, or `None` for all.

    Returns:
        A scalar in float32 or wider, 0 if no step is real.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eqs. 12 and 13.
    """
    weights = widen(ops.convert_to_tensor(weights))
    real = ops.ones_like(weights[..., 0])
    if mask is not None:
        real = ops.where(ops.cast(mask, "bool"), real, 0.0)
        weights = ops.where(ops.expand_dims(real, -1) > 0, weights, 0.0)
    weights = ops.swapaxes(weights, 1, 2)  # (B, Tv, T)
    before = running_sum(weights) - weights
    repeated = ops.sum(ops.where(weights < before, weights, before))
    repeated, steps = sum_over_replicas(repeated, ops.sum(real))
    return repeated / ops.maximum(steps, 1.0)
