"""Every place where a float can overflow, vanish or divide by zero."""

import keras
from keras import ops

TINY = 1e-12  # for float32 and wider: nothing here computes in less
MASKED = -1e30  # below any real score, far from overflow


def wide_dtype(dtype) -> str:
    """Name the dtype that `widen` casts a dtype to."""
    # Not `result_type`, which has no float64 on JAX and torch.
    is_wide = keras.backend.standardize_dtype(dtype) == "float64"
    return "float64" if is_wide else "float32"


def widen(x):
    """Cast to float32, unless the dtype is that wide already."""
    return ops.cast(x, wide_dtype(x.dtype))


def tanh(x):
    """Take the hyperbolic tangent, in the dtype that comes in.

    Keras' own takes float64 through float32 on JAX.
    """
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return 2 * ops.sigmoid(2 * x) - 1
    return ops.tanh(x)


def masked_softmax(scores, mask=None):
    """Softmax over the last axis that gives masked positions exactly 0.

    A row whose every position is masked comes out as zeros: no memory, no
    weight. Sums are taken in float32 or wider, whatever dtype comes in.

    Args:
        scores: Float tensor `(..., Tv)`.
        mask: Boolean tensor that broadcasts to `scores`, `True` to keep, or
            `None` to keep everything.

    Returns:
        Weights with the shape and dtype of `scores`.
    """
    wide = widen(scores)
    if mask is None:
        return ops.cast(_softmax(wide), scores.dtype)
    weights = _softmax(ops.where(mask, wide, MASKED))
    return ops.cast(ops.where(mask, weights, 0.0), scores.dtype)


def _softmax(x):
    """Softmax over the last axis; Keras warns if it has one position."""
    if x.shape[-1] != 1:
        return ops.softmax(x, axis=-1)
    return ops.exp(x - x)  # 1, or NaN


def join_masks(*masks):
    """Join boolean masks that broadcast to each other.

    Args:
        *masks: Boolean tensors, or `None` for what masks nothing.

    Returns:
        `True` where all of them are, or `None` if there is none.
    """
    joint = None
    for mask in masks:
        if mask is not None:
            joint = mask if joint is None else ops.logical_and(joint, mask)
    return joint


def unit_vectors(x):
    """Scale the last axis to length 1; zero stays zero, and so its gradient.

    Dividing by the sum of sizes first keeps the squares from overflowing.
    """
    wide = widen(x)
    total = ops.sum(ops.abs(wide), axis=-1, keepdims=True)
    total = ops.stop_gradient(total)
    real = total > TINY
    scaled = wide / ops.where(real, total, 1.0)
    squares = ops.sum(ops.square(scaled), axis=-1, keepdims=True)
    unit = scaled * ops.rsqrt(ops.where(real, squares, 1.0))
    return ops.cast(ops.where(real, unit, 0.0), x.dtype)


def keep_real(x, mask):
    """Put zeros where there is padding.

    Whatever stands in padding, NaN and infinity included, then reaches
    neither the result nor a gradient: a weight of 0 would not stop it.

    Args:
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, `True` at real positions, or `None`.
    """
    if mask is None:
        return x
    return ops.where(ops.expand_dims(mask, -1), x, ops.zeros((), x.dtype))
