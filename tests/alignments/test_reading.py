"""How alignments read a part of a source. (More: `tests/streaming`.)"""

import numpy as np
from keras import ops
from samples import to_numpy

from keras_attention.alignments.reading import HardReading

PLACES = np.array([[2, 3, 4, 5]] * 3, "int32")
HEAD = np.array([2, 4, 6], "int32")


def tensors(*arrays):
    return [ops.convert_to_tensor(x) for x in arrays]


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
