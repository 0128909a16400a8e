"""Running sums that keep the precision of their input."""

import keras
from keras import ops


def running_sum(x):
    """Compute the inclusive running sum over the last axis.

    On torch, `ops.cumsum` computes float64 in float32.

    Args:
        x: `(..., T)`, with two axes or more.

    Returns:
        The sums, with the shape and dtype of `x`.
    """
    if keras.backend.standardize_dtype(x.dtype) != "float64":
        return ops.cumsum(x, axis=-1)
    positions = ops.arange(ops.shape(x)[-1], dtype="int32")
    earlier = ops.expand_dims(positions, 1) <= positions
    return x @ ops.cast(earlier, x.dtype)
