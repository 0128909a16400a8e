"""operations: what is hoisted once for all steps. (More: `test_replay`.)"""

import functools
from unittest import mock

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from hoisted import hoisting

from keras_attention.ops.operations import Hoister
from keras_attention.ops.operations import Recorder
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoist
from keras_attention.ops.operations import hoists
from keras_attention.ops.operations import recording


def tensor(x):
    return to_tensor(np.array(float(x)))


def test_a_recorder_knows_what_was_hoisted_by_what_it_is():
    """A pass may ask for fewer, or for others, than the first one."""

    def add(n, x):
        return x + n

    def double(x):
        return 2 * x

    given = tensor(3)
    probe = Hoister([], [given])
    one = probe.hoist(functools.partial(add, 1), given)
    two = probe.hoist(functools.partial(add, 2), given)
    twice = probe.hoist(double, given)
    fewer = Hoister([], probe.constants, probe.hoisted)
    assert fewer.hoist(double, given) is twice
    assert fewer.hoist(functools.partial(add, 1), given) is one
    assert fewer.hoist(functools.partial(add, 2), given) is two
    more = fewer.hoist(functools.partial(add, 5), given)
    assert float(to_numpy(more)) == 8


class Offset(keras.Layer):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def of(self, x):
        return x[self.count :]


OFFSETS = {n: Offset(n) for n in (-1, -2, 3, 4)}


@pytest.mark.parametrize(
    "taking",
    [
        lambda n: lambda x: x[:n],
        lambda n: lambda x, own=slice(n): x[own],
        lambda n: lambda x, *, own=(n, "rows"): x[: own[0]],
        lambda n: functools.partial(lambda x, own: x[:own], own=n),
        lambda n: lambda x, take=lambda x: x[:n]: take(x),
        lambda n: OFFSETS[n].of,
        lambda n: lambda x, own=OFFSETS[n]: own.of(x),
    ],
)
def test_what_a_function_closes_over_tells_it_from_others(taking):
    """Steps may ask in another order, and for what the first did not ask."""
    table = keras.Variable(np.arange(6.0))
    hoisted = hoisting(lambda n: hoist(taking(n), table), [table])
    for counts in (-1, -2, 3), (3, -2, -1), (4,):
        for n in counts:
            found = to_numpy(hoisted(n))
            np.testing.assert_array_equal(found, to_numpy(taking(n)(table)))


def test_other_values_that_a_function_closes_over_are_named():
    given, scale = tensor(3), tensor(2)
    with pytest.raises(TypeError, match="Pass tensors and variables as"):
        hoisting(lambda x: hoist(lambda y: y * scale, x), [given])(given)


class TestHoisting:
    def test_what_no_step_changes_is_computed_once(self):
        variable = keras.Variable(2.0, dtype="float64")
        double = mock.Mock(side_effect=lambda x: 2 * x)

        def step(x):
            twice = hoist(double, variable)
            return x + twice + hoist(double, twice)

        hoisted = hoisting(step, [variable])
        got = [float(to_numpy(hoisted(tensor(x)))) for x in (1, 5, 7)]
        assert got == [13, 17, 19]
        assert double.call_count == 2

    def test_what_a_step_makes_is_computed_in_each(self):
        hoisted = hoisting(lambda x: hoist(lambda y: 2 * y, x), [])
        got = [float(to_numpy(hoisted(tensor(x)))) for x in (1, 5)]
        assert got == [2, 10]


def test_a_constant_has_the_dtype_of_its_value_in_the_loop():
    """Not that of the variable, which changes when autocasting ends."""
    weight = keras.Variable(np.ones(2, "float32"))
    assert dtype_of(weight) == "float32"
    value = to_tensor(np.ones(2, "float16"))
    with recording(Recorder([weight], [value])):
        assert dtype_of(weight) == "float16"


def test_the_recorder_before_comes_back_even_after_an_error():
    given = tensor(3)
    with recording(Recorder([], [given])):
        with pytest.raises(ZeroDivisionError), recording(None):
            assert hoists() / 0
        assert hoists(given)
        assert not hoists(given, tensor(3))
    assert not hoists()
