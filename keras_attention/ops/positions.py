"""The first valid position of a source, and positions counted from it."""

from keras_attention.backend import ops


def count_up(count, dtype):
    """Count from 0, in int32 first: LiteRT knows how many in advance.

    Args:
        count: How many numbers.
        dtype: Dtype of the result.

    Returns:
        `(count,)`.
    """
    return ops.cast(ops.arange(count, dtype="int32"), dtype)


def first_true(flags, dtype):
    """Return 1 at the first `True` of every row, and 0 elsewhere.

    Args:
        flags: Boolean `(..., Tv)`.
        dtype: Dtype of the result.

    Returns:
        `(..., Tv)`, zeros in rows without a `True`.
    """
    count = ops.cumsum(ops.cast(flags, "int32"), axis=-1)
    return ops.cast(ops.logical_and(flags, count == 1), dtype)


def first_position(real):
    """Return the first valid position of every row.

    Args:
        real: `(..., Tv)`, 1 at valid positions, 0 at padding.

    Returns:
        `(..., 1)`, in the dtype of `real`; 0 if there is none.
    """
    first = first_true(real > 0, real.dtype)
    order = count_up(ops.shape(real)[-1], real.dtype)
    return ops.sum(first * order, axis=-1, keepdims=True)


def source_positions(real, words, dtype):
    """Number the positions of each source from its first valid position.

    Padding on the left has negative numbers; masked positions in between are
    counted.

    Args:
        real: Boolean `(B, Tv)`, `True` at valid positions, or `None` for all.
        words: The number `Tv` of positions.
        dtype: Dtype of the result.

    Returns:
        `(B, 1, Tv)`; `(Tv,)` if `real` is `None`.
    """
    order = count_up(words, dtype)
    if real is None:
        return order
    return order - first_position(ops.cast(real[:, None], dtype))


def count_positions(real, scores):
    """Return the number of valid positions of each source.

    Args:
        real: Boolean `(B, Tv)`, `True` at valid positions, or `None` for all.
        scores: `(B, K, Tv)`.

    Returns:
        `(B, 1, 1)`, in the dtype of `scores`.
    """
    if real is None:
        batch, _, words = ops.shape(scores)
        ones = ops.ones((batch, 1, 1), scores.dtype)
        return ops.cast(words, scores.dtype) * ones
    real = ops.cast(real[:, None], scores.dtype)
    return ops.sum(real, axis=2, keepdims=True)
