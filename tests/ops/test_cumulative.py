"""cumulative: running sums."""

import numpy as np
import pytest
from gradients import check_gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.numerics import running_sum


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(2, 5), (2, 3, 7), (2, 0)])
def test_is_numpys(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    got = to_numpy(running_sum(to_tensor(x)))
    assert got.dtype == dtype
    tolerance = 1e-14 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(got, x.cumsum(-1), atol=tolerance)


def test_gradients_are_slopes():
    x = np.random.default_rng(0).normal(size=(2, 5))
    check_gradients(lambda x: ops.sum(ops.square(running_sum(x))), [x])
