"""rows: taken by their numbers, with an unknown size, and the largest."""

import keras
import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.backend import PlainBackend
from keras_attention.ops import rows
from keras_attention.ops.rows import at_most
from keras_attention.ops.rows import look_up
from keras_attention.ops.rows import reshaped
from keras_attention.ops.rows import take_rows
from keras_attention.ops.rows import top_k

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

X = np.random.default_rng(0).normal(size=(6, 2, 3)).astype("float32")


@pytest.mark.parametrize("fast", [True, False])
def test_rows_are_taken_in_any_shape(fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(rows, "backend", PlainBackend())
    index = np.array([[5, 0, 0], [1, 3, 5]], "int32")
    given = [ops.convert_to_tensor(x) for x in (X, index)]
    found = ops.convert_to_numpy(take_rows(*given))
    np.testing.assert_array_equal(found, X[index])


def test_gradients_of_an_id_that_comes_twice_are_added_up():
    draw = np.random.default_rng(1)
    table, factors = (
        draw.normal(size=size).astype("float32") for size in [(5, 3), (2, 4, 3)]
    )
    ids = np.array([[4, 0, 4, 1], [1, 1, 0, 4]], "int32")

    def weigh(table):
        found = look_up(table, ops.convert_to_tensor(ids))
        return ops.sum(found * to_tensor(factors))

    found = look_up(*map(to_tensor, (table, ids)))
    np.testing.assert_array_equal(ops.convert_to_numpy(found), table[ids])
    (found,) = gradients(weigh, [table])
    expected = np.zeros_like(table)
    np.add.at(expected, ids, factors)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.tensorflow  # others add up in float16
def test_narrow_gradients_are_added_up_in_float32():
    """In float16, 2048 + 1 is 2048."""
    table = np.ones((1, 1), "float16")
    factors = ops.convert_to_tensor(np.array([2048] + [1] * 100, "float16"))

    def weigh(table):
        found = look_up(table, np.zeros(101, "int32"))
        return ops.sum(found[:, 0] * factors)

    (found,) = gradients(weigh, [table])
    assert found.item() == 2148


@pytest.mark.tensorflow
@pytest.mark.parametrize("count", [6, 0])
def test_sizes_that_a_graph_does_not_know(count):
    @tf.function(input_signature=[tf.TensorSpec([None, 2, None])])
    def run(x):
        many, _, size = ops.shape(x)
        one = reshaped(x, (many * 2, 3))
        both = reshaped(x, (many, size, 2))
        return one, both

    one, both = run(X[:count])
    np.testing.assert_array_equal(one, X[:count].reshape(-1, 3))
    np.testing.assert_array_equal(both, X[:count].reshape(count, 3, 2))
    names = {
        node.op
        for node in run.get_concrete_function().graph.as_graph_def().node
    }
    assert "Pack" in names  # two sizes that nobody knows are computed


@pytest.mark.tensorflow
def test_a_single_unknown_size_costs_no_operation():
    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3])])
    def run(x):
        return reshaped(x, (ops.shape(x)[0], 6))

    graph = run.get_concrete_function().graph.as_graph_def()
    assert "Pack" not in {node.op for node in graph.node}


def test_no_entries_beside_a_size_of_0():
    shape = reshaped(ops.zeros((0, 4)), (4, 0)).shape
    assert tuple(shape) == (4, 0)


def largest(x, k):
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order


@pytest.mark.parametrize("size", [3, 255, 256, 1280, 1283, 5000])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kinds", [2, 40, 10**6])
def test_finds_the_largest_and_of_equals_the_first(size, k, kinds):
    draw = np.random.default_rng(size).integers
    x = draw(kinds, size=(3, 2, size)).astype("float32")
    values, indices = map(to_numpy, top_k(to_tensor(x), k))
    best, order = largest(x, k)
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
    x = np.random.default_rng(0).normal(size=(2, 900)).astype("float32")
    run = tf.function(
        lambda x: top_k(x, 3), [tf.TensorSpec((None, None), tf.float32)]
    )
    values, indices = map(to_numpy, run(x))
    best, order = largest(x, 3)
    np.testing.assert_array_equal(values, best)
    np.testing.assert_array_equal(indices, order)
