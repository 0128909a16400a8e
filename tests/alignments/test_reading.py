"""How alignments read a source of which a part is there."""

import numpy as np
import pytest
from keras import ops
from samples import to_numpy

from keras_attention.alignments.reading import AbstractReading
from keras_attention.alignments.reading import HardReading
from keras_attention.alignments.reading import WindowReading

PLACES = np.array([[2, 3, 4, 5]] * 3, "int32")
HEAD = np.array([2, 4, 6], "int32")


def tensors(*arrays):
    return [ops.convert_to_tensor(x) for x in arrays]


def test_a_hard_one_begins_at_its_head():
    (state,) = HardReading().place(*tensors(HEAD, PLACES), "float32")
    wanted = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(to_numpy(state), wanted)


def test_a_hard_one_waits_until_it_stops():
    state = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], "float32")
    head, places, state = tensors(HEAD, PLACES, state)
    found, waiting, moved = to_numpy(
        HardReading(2).follow(head, places, (state,))
    )
    assert found.tolist() == [True, False, True]
    assert waiting.tolist() == moved.tolist() == [3, 6, 5]
    assert waiting.dtype == np.int32


def test_a_strict_one_goes_on_behind_its_stop():
    reading = HardReading(strict=True)
    (state,) = reading.place(*tensors(HEAD, PLACES), "float32")
    wanted = [[-1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(to_numpy(state), wanted)
    state = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], "float32")
    head, places, state = tensors(HEAD, PLACES, state)
    _, waiting, moved = to_numpy(reading.follow(head, places, (state,)))
    assert waiting.tolist() == [3, 6, 5]
    assert moved.tolist() == [4, 6, 6]


def test_a_window_waits_for_its_last_position():
    head, places = tensors(np.array([3, 4, 5], "int32"), PLACES)
    reading = WindowReading(1)
    (centre,) = reading.place(head, places, "float64")
    assert to_numpy(centre).tolist() == [[1], [2], [3]]
    assert to_numpy(centre).dtype == np.float64
    found, waiting, moved = to_numpy(reading.follow(head, places, (centre,)))
    assert found.tolist() == [True, True, False]
    assert waiting.tolist() == [3, 4, 5]
    assert moved.tolist() == [4, 5, 6]


def test_a_base_says_what_to_write():
    with pytest.raises(NotImplementedError, match="must define `place"):
        AbstractReading().place(HEAD, PLACES, "float32")
    with pytest.raises(NotImplementedError, match="must define `follow"):
        AbstractReading().follow(HEAD, PLACES, ())
