"""Numerically safe functions: casts, masks, softmax, norms, running sums."""

import keras

from keras_attention.backend import ops

TINY = 1e-12  # of a norm, which is computed in float32 or wider
MASKED = -1e30  # below any real score, far from overflow


def wide_dtype(dtype) -> str:
    """Return the name of the dtype that `widen` casts a dtype to."""
    # Not `result_type`, which has no float64 on JAX and torch.
    is_wide = keras.backend.standardize_dtype(dtype) == "float64"
    return "float64" if is_wide else "float32"


def cast(x, dtype):
    """Convert to a tensor of a dtype, if it does not have this dtype.

    On TensorFlow and JAX, a dtype equals its name; on torch, `ops.cast` costs
    nothing for a tensor that has this dtype.
    """
    if ops.is_tensor(x):
        return x if x.dtype == dtype else ops.cast(x, dtype)
    return ops.cast(ops.convert_to_tensor(x), dtype)


def widen(x):
    """Cast to float32; float64 is unchanged."""
    return cast(x, wide_dtype(x.dtype))


def tanh(x):
    """Compute the hyperbolic tangent in the dtype of the input.

    On JAX, `ops.tanh` computes float64 in float32.
    """
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return 2 * ops.sigmoid(2 * x) - 1
    return ops.tanh(x)


def masked_softmax(scores, mask=None):
    """Compute a softmax over the last axis, exactly 0 at masked positions.

    If all positions of a row are masked, its weights are zeros. Sums are
    computed in float32 or wider.

    Args:
        scores: Float tensor `(..., Tv)`.
        mask: Boolean tensor that broadcasts to `scores`, `True` to keep, or
            `None` to keep everything.

    Returns:
        Weights with the shape and dtype of `scores`.
    """
    wide = widen(scores)
    if mask is None:
        return cast(_softmax(wide), scores.dtype)
    weights = _softmax(ops.where(mask, wide, MASKED))
    return cast(ops.where(mask, weights, 0.0), scores.dtype)


def _softmax(x):
    """Compute the softmax; that of Keras warns about an axis of size 1."""
    if x.shape[-1] != 1:
        return ops.softmax(x, axis=-1)
    return ops.exp(x - x)  # 1, or NaN


def join_masks(*masks):
    """Combine boolean masks with a logical `and`.

    Args:
        *masks: Boolean tensors that broadcast to each other; `None` masks
            nothing.

    Returns:
        `True` where all masks are `True`; `None` if all are `None`.
    """
    joint = None
    for mask in masks:
        if mask is not None:
            joint = mask if joint is None else ops.logical_and(joint, mask)
    return joint


def unit_vectors(x):
    """Scale the last axis to length 1.

    A zero vector stays zero, and its gradient is zero. Vectors are first
    divided by the sum of their absolute values, so that squares do not
    overflow.

    Args:
        x: `(..., D)`.

    Returns:
        Vectors with the shape and dtype of `x`.
    """
    wide = widen(x)
    total = ops.sum(ops.abs(wide), axis=-1, keepdims=True)
    total = ops.stop_gradient(total)
    real = total > TINY
    scaled = wide / ops.where(real, total, 1.0)
    squares = ops.sum(ops.square(scaled), axis=-1, keepdims=True)
    unit = scaled * ops.rsqrt(ops.where(real, squares, 1.0))
    return ops.cast(ops.where(real, unit, 0.0), x.dtype)


def layer_norm(x, gamma, beta, epsilon: float):
    """Normalize the last axis to mean 0 and variance 1, scale it and move it.

    Keras' own function computes float64 in float32 on JAX and torch.

    Args:
        x: `(..., D)`.
        gamma: Scale, `(D,)`.
        beta: Offset, `(D,)`.
        epsilon: Number added to the variance.

    Returns:
        A tensor with the shape and dtype of `x`.
    """
    wide, size = widen(x), x.shape[-1]
    wide = wide - ops.sum(wide, axis=-1, keepdims=True) / size
    variance = ops.sum(ops.square(wide), axis=-1, keepdims=True) / size
    wide = wide * ops.rsqrt(variance + epsilon) * ops.cast(gamma, wide.dtype)
    return ops.cast(wide + ops.cast(beta, wide.dtype), x.dtype)


def keep_real(x, mask):
    """Replace padding with zeros.

    NaN and infinity in padding then affect neither results nor gradients. A
    weight of 0 would not be enough, because 0 times NaN is NaN.

    Args:
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, `True` at valid positions, or `None`.

    Returns:
        `(B, T, D)`.
    """
    if mask is None:
        return x
    return ops.where(ops.expand_dims(mask, -1), x, ops.zeros((), x.dtype))


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


def windows(x, before: int, after: int, fill: float = 0.0):
    """Collect the entries around each position.

    Args:
        x: `(B, K, T)`.
        before: Number of entries before each position.
        after: Number of entries after each position.
        fill: What stands beyond the ends. Defaults to `0.0`.

    Returns:
        `(B, K, T, before + 1 + after)`, entries in their order.
    """
    ends = ((0, 0), (0, 0), (before, after))
    padded = ops.pad(x, ends, constant_values=fill)
    last = before + after
    parts = [padded[..., d : d - last or None] for d in range(last + 1)]
    return ops.stack(parts, axis=-1)


def log_normalize(log_values):
    """Normalize the exponentials of the last axis, in log space.

    Formula:

        x - log(sum_j exp(x_j))

    Args:
        log_values: In float32 or wider; `-inf` is allowed.

    Returns:
        A tensor of the same shape. `-inf` is unchanged, even if all values of a
        row are `-inf`.
    """
    low = ops.clip(log_values, MASKED, -MASKED)
    return ops.where(log_values > MASKED, ops.log_softmax(low), log_values)


def log_of_mean(log_values, shares):
    """Compute the logarithm of a weighted mean from logarithms.

    Formula:

        log(sum_i w_i exp(x_i))

    The result neither overflows nor underflows: a mean is 0 only if all values
    are 0.

    Args:
        log_values: List of tensors of the same shape, in float32 or wider;
            `-inf` is allowed.
        shares: The positive numbers `w_i`.

    Returns:
        A tensor of that shape.
    """
    top = MASKED
    for x in log_values:
        top = ops.maximum(x, top)
    # Torch rounds it to float32, and any number near by will do.
    top = ops.cast(top, log_values[0].dtype)
    pairs = zip(log_values, shares, strict=True)
    return top + ops.log(sum(share * ops.exp(x - top) for x, share in pairs))
