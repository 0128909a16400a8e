"""Memory, and the masks of a call."""

import numpy as np
from gradients import to_numpy
from gradients import to_tensor

from keras_attention import Memory
from keras_attention.attention.memory import visible_positions

MASK = np.array([[1, 1, 0], [1, 0, 0]], bool)


def memory(mask=None):
    values = to_tensor(np.ones((2, 3, 4), "float32"))
    return Memory(values, values, None if mask is None else to_tensor(mask))


def test_has_three_parts():
    parts = Memory("keys", "values")
    assert parts == ("keys", "values", None)
    assert Memory(*["k", "v", "m"]).mask == "m"


def test_masks_are_joined():
    query = to_tensor(np.ones((2, 2, 4), "float32"))
    allowed = np.array([[[1, 0, 1]], [[1, 1, 1]]], bool)
    found = to_numpy(
        visible_positions(query, memory(MASK), allowed, causal=True)
    )
    causal = np.array([[1, 0, 0], [1, 1, 0]], bool)
    np.testing.assert_array_equal(found, MASK[:, None] & allowed & causal)
