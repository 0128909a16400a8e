"""windows: each position with its neighbours."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.ops.numerics import windows


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_has_each_neighbour_in_its_place(before, after, length):
    x = np.random.default_rng(0).normal(size=(2, 3, length))
    found = to_numpy(windows(to_tensor(x), before, after, -9.0))
    assert found.shape == (2, 3, length, before + 1 + after)
    for j in range(length):
        for d in range(-before, after + 1):
            inside = 0 <= j + d < length
            want = x[..., j + d] if inside else -9.0
            assert (found[..., j, d + before] == want).all()
