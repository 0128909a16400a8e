"""Buckets of pairs of similar length, which are padded to one shape."""

from collections.abc import Iterable

import numpy as np

CANDIDATES = 256  # for the ends of buckets


def choose_buckets(
    lengths: Iterable[np.ndarray], buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the buckets that need least padding, by dynamic programming.

    Args:
        lengths: The lengths of both sides of each pair, in parts `(2, n)`.
        buckets: The maximum number of buckets.

    Returns:
        ends: `(K,)`, rising: the longer side of the longest pair in each
            bucket.
        widths: `(K, 2)`: the lengths to which a bucket pads its two sides.
    """
    ends, pairs, widths = _candidates(lengths)
    area = widths.sum(axis=1)
    cost = pairs * area  # of one bucket up to each end, (E,)
    chosen = [[end] for end in range(len(ends))]
    for _ in range(buckets - 1):
        last = (pairs - pairs[:, None]) * area  # (E, E): from row to column
        last = np.where(last < 0, np.inf, last)
        total = cost[:, None] + last
        before = total.argmin(axis=0)
        cost = total.min(axis=0)
        chosen = [
            chosen[i] if i == end else [*chosen[i], end]
            for end, i in enumerate(before)
        ]
    return ends[chosen[-1]], widths[chosen[-1]]


def _candidates(lengths):
    """Return some ends `(E,)`, the pairs up to each, and their widths."""
    counts, widest = _count(lengths)
    up_to = counts.cumsum()
    shares = np.linspace(0, 1, CANDIDATES)
    places = np.ceil((up_to[-1] - 1) * shares).astype("int64")
    ends = np.unique(np.searchsorted(up_to, places, side="right"))  # (E,)
    widest = np.maximum.accumulate(widest, axis=1)
    return ends, up_to[ends], widest[:, ends].T


def _count(parts):
    """Count pairs by their longer side, and find the longest of each side.

    Returns:
        `(L,)` and `(2, L)`.
    """
    counts, widest = np.zeros(1, "int64"), np.zeros((2, 1), "int64")
    for lengths in parts:
        longest = lengths.max(axis=0)
        more = max(0, longest.max() + 1 - len(counts))
        counts = np.pad(counts, (0, more))
        widest = np.pad(widest, ((0, 0), (0, more)))
        counts += np.bincount(longest, minlength=len(counts))
        for side, found in zip(lengths, widest, strict=True):
            np.maximum.at(found, longest, side)
    return counts, widest
