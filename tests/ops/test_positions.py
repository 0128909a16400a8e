"""Where sources begin."""

import numpy as np
from gradients import to_numpy
from keras import ops

from keras_attention.ops.positions import count_positions
from keras_attention.ops.positions import first_position
from keras_attention.ops.positions import first_true
from keras_attention.ops.positions import source_positions

REAL = np.array([[0, 0, 1, 0, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
COUNTED = [[-2, -1, 0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_first_true_is_one_at_most():
    got = to_numpy(first_true(ops.convert_to_tensor(REAL), "float32"))
    assert got.sum(axis=1).tolist() == [1, 1, 0]
    assert got.argmax(axis=1).tolist() == [2, 0, 0]


def test_a_source_begins_at_its_first_real_position():
    real = ops.convert_to_tensor(REAL, "float32")
    assert to_numpy(first_position(real))[:, 0].tolist() == [2, 0, 0]
    assert tuple(first_position(ops.zeros((2, 3, 0))).shape) == (2, 3, 1)
    for dtype in ("int32", "float32"):
        mask = ops.convert_to_tensor(REAL)
        places = to_numpy(source_positions(mask, 5, dtype))
        assert places[:, 0].tolist() == COUNTED
        assert to_numpy(source_positions(None, 5, dtype)).tolist() == COUNTED[1]


def test_real_positions_are_counted():
    scores = ops.zeros((3, 2, 5))
    mask = ops.convert_to_tensor(REAL)
    assert to_numpy(count_positions(mask, scores)).ravel().tolist() == [2, 3, 0]
    assert to_numpy(count_positions(None, scores)).ravel().tolist() == [5] * 3
