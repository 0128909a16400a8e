from itertools import combinations

import numpy as np
import pytest

from keras_attention.text.buckets import choose_buckets

pytestmark = pytest.mark.tensorflow  # the package around it needs it
LENGTHS = np.random.default_rng(0).integers(3, 15, (2, 60))


def padded(lengths, ends):
    """Count the ids of all pairs in buckets with these ends."""
    longest = lengths.max(axis=0)
    total, start = 0, 0
    for end in ends:
        widths = lengths[:, longest <= end].max(axis=1)
        total += ((start < longest) & (longest <= end)).sum() * widths.sum()
        start = end
    return total


@pytest.mark.parametrize("buckets", [1, 2, 3, 5])
def test_no_other_buckets_need_less_padding(buckets):
    ends, widths = choose_buckets(np.split(LENGTHS, 4, 1), buckets)
    longest = np.unique(LENGTHS.max(axis=0))
    best = min(
        padded(LENGTHS, [*chosen, longest[-1]])
        for chosen in combinations(longest[:-1], buckets - 1)
    )
    assert padded(LENGTHS, ends) == best
    assert len(ends) == len(widths) <= buckets


def test_every_pair_fits_into_its_bucket():
    ends, widths = choose_buckets(np.split(LENGTHS, 4, 1), 4)
    bucket = np.searchsorted(ends, LENGTHS.max(axis=0))
    assert (LENGTHS.T <= widths[bucket]).all()


@pytest.mark.parametrize("count", [10, 60, 255, 256, 257, 1000])
def test_ends_are_quantiles_of_the_longer_sides(count):
    lengths = np.random.default_rng(count).geometric(0.02, (2, count)) + 2
    longest = lengths.max(axis=0)
    shares = np.linspace(0, 1, 256)
    ends, widths = choose_buckets([lengths[:, :9], lengths[:, 9:]], 256)
    wanted = np.unique(np.quantile(longest, shares, method="higher"))
    assert {*ends} <= {*wanted}
    assert len({*longest}) > 200 or {*ends} == {*wanted}
    for end, width in zip(ends, widths, strict=True):
        assert (width == lengths[:, longest <= end].max(axis=1)).all()


def test_equal_pairs_need_one_bucket():
    ends, widths = choose_buckets([np.full((2, 9), 5)], 8)
    assert ends.tolist() == [5]
    assert widths.tolist() == [[5, 5]]
