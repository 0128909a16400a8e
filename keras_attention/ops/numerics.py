"""Every place where a float can overflow, vanish or divide by zero."""

import keras
from keras import ops

TINY = 1e-12  # for float32 and wider: nothing here computes in less
MASKED = -1e30  # below any real score, far from overflow


def widen(x):
    """Cast to float32, unless the dtype is that wide already."""
    # Not `result_type`, which has no float64 on JAX and torch.
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return x
    return ops.cast(x, "float32")


def tanh(x):
    """Take the hyperbolic tangent, in the dtype that comes in.

    Keras' own takes float64 through float32 on JAX.
    """
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return 2 * ops.sigmoid(2 * x) - 1
    return ops.tanh(x)


def product(x, kernel):
    """Multiply features by a kernel, in the dtype of the features.

    The product is one of two matrices: TensorFlow's own for more axes cannot
    be differentiated by XLA inside a loop. It is written `@`, because
    `ops.matmul` takes float64 through float32 on torch.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)`.

    Returns:
        `(..., U)`.
    """
    kernel = ops.cast(kernel, x.dtype)
    if len(x.shape) == 2:
        return x @ kernel
    rows = ops.reshape(x, (-1, x.shape[-1])) @ kernel
    return ops.reshape(rows, (*ops.shape(x)[:-1], kernel.shape[-1]))


def dot_scores(query, keys):
    """Score every query by its inner product with every key.

    A sum of products overflows float16 long before its weights would: it is
    taken in float32 or wider, and comes back that wide.

    Args:
        query: `(B, Tq, D)`.
        keys: `(B, Tv, D)`.

    Returns:
        Scores `(B, Tq, Tv)`.
    """
    return widen(query) @ ops.swapaxes(widen(keys), 1, 2)


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
        return ops.cast(ops.softmax(wide, axis=-1), scores.dtype)
    weights = ops.softmax(ops.where(mask, wide, MASKED), axis=-1)
    return ops.cast(ops.where(mask, weights, 0.0), scores.dtype)


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
