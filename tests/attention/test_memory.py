"""Memory, and the masks of a call."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention import Memory
from keras_attention.attention.memory import count_positions
from keras_attention.attention.memory import real_positions
from keras_attention.attention.memory import visible_positions

MASK = np.array([[1, 1, 0], [1, 0, 0]], bool)


def memory(mask=None):
    values = to_tensor(np.ones((2, 3, 4), "float32"))
    return Memory(values, values, None if mask is None else to_tensor(mask))


def test_has_three_parts():
    parts = Memory("keys", "values")
    assert parts == ("keys", "values", None)
    assert Memory(*["k", "v", "m"]).mask == "m"


def test_counts_real_positions():
    found = to_numpy(count_positions(memory(MASK), "float32"))
    np.testing.assert_array_equal(found, [[[2]], [[1]]])
    found = to_numpy(count_positions(memory(), "float32"))
    np.testing.assert_array_equal(found, [[[3]], [[3]]])


@pytest.mark.parametrize("beams", [1, 2])
def test_marks_real_positions_for_every_beam(beams):
    found = to_numpy(real_positions(memory(MASK), beams, "float32"))
    assert found.shape == (2, beams, 3)
    for k in range(beams):
        np.testing.assert_array_equal(found[:, k], MASK)
    assert to_numpy(real_positions(memory(), beams, "float32")).all()


def test_without_masks_all_is_visible():
    query = to_tensor(np.ones((2, 2, 4), "float32"))
    assert visible_positions(query, memory()) is None


def test_masks_are_joined():
    query = to_tensor(np.ones((2, 2, 4), "float32"))
    allowed = np.array([[[1, 0, 1]], [[1, 1, 1]]], bool)
    found = to_numpy(
        visible_positions(query, memory(MASK), allowed, causal=True)
    )
    causal = np.array([[1, 0, 0], [1, 1, 0]], bool)
    np.testing.assert_array_equal(found, MASK[:, None] & allowed & causal)
