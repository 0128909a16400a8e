"""Rows of different lengths: what TensorFlow makes of them."""

import numpy as np
import pytest

from keras_attention.text.arrays import ragged

tf = pytest.importorskip("tensorflow")
ROWS = [[3, 1, 4], [], [1, 5]]
WORDS = [["a", ""], [], ["ä"]]


@pytest.mark.parametrize("shape", [None, (-1, 2), (-1, 5), (-1, 0)])
def test_rows_are_padded_and_cut(shape):
    found = ragged.from_lists(ROWS, "int32").to_tensor(shape=shape)
    wanted = tf.ragged.constant(ROWS, tf.int32)
    wanted = wanted.to_tensor(shape=None if shape is None else tf.stack(shape))
    np.testing.assert_array_equal(found, wanted.numpy())
    words = ragged.from_lists(WORDS, object).to_tensor(shape=shape)
    assert words.dtype == object
    assert set(words.ravel().tolist()) <= {"a", "", "ä"}


def test_no_row_is_no_row():
    empty = ragged.from_lists([], "int32")
    assert empty.to_tensor().shape == (0, 0)
    assert empty.row_lengths().shape == (0,)


def test_another_value_may_pad():
    found = ragged.from_lists(ROWS, "int32").to_tensor(7)
    assert found.tolist() == [[3, 1, 4], [7, 7, 7], [1, 5, 7]]


def test_entries_are_left_out():
    rows = ragged.from_lists(WORDS, object)
    left = ragged.boolean_mask(rows, rows != "")
    assert left.row_lengths().tolist() == [1, 0, 1]
    assert left.flat_values.tolist() == ["a", "ä"]
    dense = np.array([[3, 1], [4, 1]])
    left = ragged.boolean_mask(dense, dense > 1)
    wanted = tf.ragged.boolean_mask(dense, dense > 1)
    assert left.row_lengths().tolist() == wanted.row_lengths().numpy().tolist()
    assert left.flat_values.tolist() == wanted.flat_values.numpy().tolist()


def test_entries_are_mapped():
    rows = ragged.map_flat_values(len, ragged.from_lists(WORDS, object))
    assert rows.flat_values == 3
    assert rows.row_ids().tolist() == [0, 0, 2]
