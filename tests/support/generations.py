"""What searches find, as NumPy arrays."""

import numpy as np
from keras import ops


def to_numpy(found) -> list:
    """Turn a `Generation` into arrays; `None` in it stays."""
    return [None if x is None else ops.convert_to_numpy(x) for x in found]


def assert_same(found, wanted):
    """Compare two of them, shapes included."""
    for x, y in zip(to_numpy(found), to_numpy(wanted), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, atol=1e-5)
