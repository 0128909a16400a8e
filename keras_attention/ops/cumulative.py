"""Running sums, in the dtype that comes in."""

import keras
from keras import ops


def running_sum(x):
    """Sum the last axis up to each position, that one included.

    Keras' own takes float64 through float32 on torch.

    Args:
        x: `(..., T)`, of two axes or more.

    Returns:
        The sums, with the shape and dtype of `x`.
    """
    if keras.backend.standardize_dtype(x.dtype) != "float64":
        return ops.cumsum(x, axis=-1)
    positions = ops.arange(ops.shape(x)[-1], dtype="int32")
    earlier = ops.expand_dims(positions, 1) <= positions
    return x @ ops.cast(earlier, x.dtype)
