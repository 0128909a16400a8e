"""Operations of `tf.math`, on NumPy arrays."""

import numpy as np


def unsorted_segment_min(data, segments, count: int) -> np.ndarray:
    """Return the smallest entry of each segment.

    Args:
        data: Integers `(N,)`.
        segments: The segment of each, `(N,)`, below `count`.
        count: The number of segments.

    Returns:
        `(count,)`.
    """
    found = np.full(count, np.iinfo(data.dtype).max, data.dtype)
    np.minimum.at(found, segments, data)
    return found


def top_k(x) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest entry of the last axis, and its first place.

    Args:
        x: `(..., N)`.

    Returns:
        Both `(..., 1)`.
    """
    places = np.argmax(x, axis=-1)[..., None]
    return np.take_along_axis(x, places, axis=-1), places
