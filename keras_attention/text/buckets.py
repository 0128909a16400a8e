"""Buckets of pairs of similar length, which are padded to one shape."""

import numpy as np

CANDIDATES = 256  # for the ends of buckets


def choose_buckets(
    lengths: np.ndarray, buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the buckets that need least padding, by dynamic programming.

    Args:
        lengths: The lengths of both sides of each pair, `(2, N)`.
        buckets: The maximum number of buckets.

    Returns:
        ends: `(K,)`, rising: the longer side of the longest pair in each
            bucket.
        widths: `(K, 2)`: the lengths to which a bucket pads its two sides.
    """
    longest = lengths.max(axis=0)  # (N,)
    shares = np.linspace(0, 1, CANDIDATES)
    ends = np.unique(np.quantile(longest, shares, method="higher"))  # (E,)
    widths = np.array([lengths[:, longest <= e].max(axis=1) for e in ends])
    area = widths.sum(axis=1)
    pairs = np.searchsorted(np.sort(longest), ends, side="right")
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
