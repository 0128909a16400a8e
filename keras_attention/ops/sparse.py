"""Sparse alternatives to softmax: most weights are 0, and the sum is 1.

Both have the form `p = f(z - t)`, where `f` is 0 below 0 and `t` is one
threshold per row. Sorting determines the exact threshold, without a gradient.
Newton steps from there do not change the threshold, but provide derivatives:
one step gives the gradient of the solution, and two steps also give its second
and third derivatives.
"""

from keras_attention.backend import ops
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import running_sum
from keras_attention.ops.numerics import widen

FLOOR = -2.0  # below any threshold: with a maximum of 0, `t` is at least -1


def sparsemax(scores, mask=None):
    """Project every row of scores onto the probability simplex.

    Formula:

        p = max(z - t, 0), with t such that p sums to 1

    Args:
        scores: Float tensor `(..., Tv)`.
        mask: Boolean tensor that broadcasts to `scores`, `True` to keep, or
            `None` to keep everything. If all positions of a row are masked, its
            weights are zeros.

    Returns:
        Weights with the shape and dtype of `scores`.

    Reference:
        [Martins and Astudillo, 2016](https://arxiv.org/abs/1602.02068),
        algorithm 1.
    """
    wide = widen(scores)
    mask = ops.ones_like(wide, "bool") if mask is None else mask
    z = _below_zero(wide, mask)
    ordered, rank = _descending(z)
    threshold = (running_sum(ordered) - 1) / rank
    start = _last_below(threshold, ordered)
    excess = ops.relu(z - start)
    count = ops.cast(excess > 0, z.dtype)
    slope = _sum(count)
    threshold = start + (_sum(excess) - 1) / slope
    weights = ops.where(mask, ops.relu(z - threshold), 0.0)
    return ops.cast(weights, scores.dtype)


def entmax15(scores, mask=None):
    """Map every row of scores to weights with 1.5-entmax.

    Formula:

        p = max(z / 2 - t, 0)^2, with t such that p sums to 1

    Args:
        scores: Float tensor `(..., Tv)`.
        mask: Boolean tensor that broadcasts to `scores`, `True` to keep, or
            `None` to keep everything. If all positions of a row are masked, its
            weights are zeros.

    Returns:
        Weights with the shape and dtype of `scores`.

    Reference:
        [Peters et al., 2019](https://arxiv.org/abs/1905.05702), algorithm 2.
    """
    wide = widen(scores)
    mask = ops.ones_like(wide, "bool") if mask is None else mask
    z = _below_zero(wide / 2, mask)
    ordered, rank = _descending(z)
    mean = running_sum(ordered) / rank
    mean_square = running_sum(ops.square(ordered)) / rank
    rest = 1 / rank - (mean_square - ops.square(mean))
    threshold = mean - ops.sqrt(ops.relu(rest))
    threshold = _last_below(threshold, ordered)
    for _ in range(2):  # the second one, for its second derivative
        excess = ops.relu(z - threshold)
        slope = 2 * _sum(excess)
        threshold = threshold + (_sum(ops.square(excess)) - 1) / slope
    weights = ops.square(ops.relu(z - threshold))
    return ops.cast(ops.where(mask, weights, 0.0), scores.dtype)


def _sum(x):
    return ops.sum(x, axis=-1, keepdims=True)


def _below_zero(wide, mask):
    """Shift the maximum of each row to 0, and set masked scores to FLOOR."""
    largest = ops.where(mask, wide, MASKED)
    largest = ops.max(largest, axis=-1, keepdims=True, initial=MASKED)
    shifted = wide - ops.stop_gradient(largest)
    return ops.where(ops.logical_and(mask, shifted > FLOOR), shifted, FLOOR)


def _descending(z):
    """Sort rows in descending order; return them and the ranks from 1."""
    ordered = -ops.sort(ops.stop_gradient(-z), axis=-1)
    rank = 1 + ops.arange(ops.shape(z)[-1], dtype="int32")
    return ordered, ops.cast(rank, z.dtype)


def _last_below(threshold, ordered):
    """Return the threshold of each row's support, its scores above it."""
    size = ops.cast(threshold < ordered, "int32")
    size = ops.sum(size, axis=-1, keepdims=True)
    place = 1 + ops.arange(ops.shape(ordered)[-1], dtype="int32")
    chosen = ops.where(place == size, threshold, 0.0)
    return ops.stop_gradient(_sum(chosen))
