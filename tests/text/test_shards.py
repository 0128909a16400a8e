"""Shards: every row belongs to one process."""

import numpy as np
import pytest

from keras_attention.text.shards import check_shard
from keras_attention.text.shards import own_rows


@pytest.mark.parametrize("rows", [0, 1, 5, 6])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_shards_are_disjoint_and_together_all(rows, count):
    pairs = np.arange(rows)
    found = [own_rows(pairs, (index, count)) for index in range(count)]
    assert sorted(np.concatenate(found)) == list(range(rows))
    sizes = [len(own) for own in found]
    assert max(sizes) - min(sizes) <= 1


def test_no_shard_is_the_only_one():
    assert check_shard(None) == (0, 1)
    assert check_shard([np.int64(1), 2]) == (1, 2)
