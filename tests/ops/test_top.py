"""top: the largest numbers, in the order of `ops.top_k`, ties included."""

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.ops.rows import at_most
from keras_attention.ops.rows import top_k


def expected(x, k):
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order


@pytest.mark.parametrize("size", [3, 255, 256, 1280, 1283, 5000])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kinds", [2, 40, 10**6])
def test_finds_the_largest_and_of_equals_the_first(size, k, kinds):
    draw = np.random.default_rng(size).integers
    x = draw(kinds, size=(3, 2, size)).astype("float32")
    values, indices = map(to_numpy, top_k(to_tensor(x), k))
    best, order = expected(x, k)
    assert indices.dtype == "int32"
    np.testing.assert_array_equal(values, best)
    np.testing.assert_array_equal(np.take_along_axis(x, indices, -1), best)
    assert all(len({*row}) == k for row in indices.reshape(-1, k))
    if keras.backend.backend() != "torch":  # which promises no order
        np.testing.assert_array_equal(indices, order)


def test_rows_of_nothing():
    """Where every token is forbidden, the first ones come first."""
    x = np.full((2, 1280), -np.inf, "float32")
    x[1, 700] = 0
    values, indices = map(to_numpy, top_k(to_tensor(x), 3))
    assert indices[1, 0] == 700
    assert np.isneginf(values).sum() == 5
    if keras.backend.backend() != "torch":
        assert indices.tolist() == [[0, 1, 2], [700, 0, 1]]


def test_no_rows():
    values, indices = top_k(to_tensor(np.zeros((0, 2, 1280))), 4)
    assert values.shape == indices.shape == (0, 2, 4)


def test_the_last_numbers_are_in_no_group():
    x = np.arange(1280 + 63.0)
    values, indices = top_k(to_tensor(x), 2)
    assert to_numpy(indices).tolist() == [1342, 1341]
    assert to_numpy(values).tolist() == [1342, 1341]


def test_at_most_what_there_is():
    assert at_most(5, np.zeros((2, 3))) == 3
    assert at_most(2, np.zeros((2, 3))) == 2
    assert at_most(5, keras.KerasTensor((2, None))) == 5


@pytest.mark.tensorflow
def test_a_size_that_is_told_late():
    tf = pytest.importorskip("tensorflow")
    x = np.random.default_rng(0).normal(size=(2, 900)).astype("float32")
    run = tf.function(
        lambda x: top_k(x, 3), [tf.TensorSpec((None, None), tf.float32)]
    )
    values, indices = map(to_numpy, run(x))
    best, order = expected(x, 3)
    np.testing.assert_array_equal(values, best)
    np.testing.assert_array_equal(indices, order)
