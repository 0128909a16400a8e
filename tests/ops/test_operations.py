"""operations: they run by themselves, or as the recorder says."""

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.ops.operations import Operation
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoist
from keras_attention.ops.operations import hoists
from keras_attention.ops.operations import perform
from keras_attention.ops.operations import recording
from keras_attention.ops.recorders import Recorder

TIMES = Operation(run=lambda x, y: x * y, pull=lambda dy, _, y: dy * y)


class Answers:
    def perform(self, operation, x, *constants):
        return ("performed", operation, x, *constants)

    def hoist(self, function, *constants):
        return ("hoisted", function, *constants)

    def knows(self, constant):
        return constant == 5


def test_by_themselves_they_run():
    x = to_tensor(np.array([1.0, 2.0]))
    assert not hoists()
    assert to_numpy(perform(TIMES, x, 3)).tolist() == [3, 6]
    assert hoist(lambda x, y: x + y, 1, 2) == 3


def test_a_recorder_decides():
    with recording(Answers()) as recorder:
        assert isinstance(recorder, Answers)
        assert hoists()
        assert hoists(5)
        assert not hoists(5, 6)
        assert perform(TIMES, 1, 2) == ("performed", TIMES, 1, 2)
        assert hoist(abs, 5) == ("hoisted", abs, 5)
    assert perform(TIMES, 1, 2) == 2


def test_a_constant_has_the_dtype_of_its_value_in_the_loop():
    """Not that of the variable, which changes when autocasting ends."""
    weight = keras.Variable(np.ones(2, "float32"))
    assert dtype_of(weight) == "float32"
    value = to_tensor(np.ones(2, "float16"))
    with recording(Recorder([weight], [value])):
        assert dtype_of(weight) == "float16"


def test_the_recorder_before_comes_back_even_after_an_error():
    with recording(Answers()):
        with pytest.raises(ZeroDivisionError), recording(None):
            assert hoists() / 0
        assert hoists()
    assert not hoists()
