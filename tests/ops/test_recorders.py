"""recorders: which constants they know, what they keep, what they give."""

import functools

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from hoisted import hoisting

from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.operations import Operation
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoist
from keras_attention.ops.operations import hoists
from keras_attention.ops.operations import recording
from keras_attention.ops.recorders import Probe
from keras_attention.ops.recorders import Recorder
from keras_attention.ops.recorders import Replayer

LATE = Operation(
    run=lambda x, y: x * y,
    pull=lambda dy, _, y: dy * y,
    late=lambda dys, xs, _: [dys * xs],
)
AT_ONCE = Operation(run=lambda x, y: x + y, pull=lambda dy, *_: [dy, dy])


def tensor(x):
    return to_tensor(np.array(float(x)))


class TestRecorder:
    def make(self):
        self.variable = keras.Variable(2.0, dtype="float64")
        self.given = tensor(3)
        # The value of the loop, not the variable's own.
        return Recorder([self.variable], [tensor(5), self.given])

    def test_keeps_operations_on_what_it_knows(self):
        recorder, x = self.make(), tensor(7)
        results = [
            recorder.perform(LATE, x, self.variable),
            recorder.perform(LATE, x, self.given),
        ]
        assert [float(to_numpy(y)) for y in results] == [35, 21]
        assert recorder.operations == [(LATE, [0]), (LATE, [1])]
        assert all(
            a is b for a, b in zip(recorder.results, results, strict=True)
        )
        assert recorder.operands == [x, x]

    def test_runs_what_is_late_on_others_and_keeps_nothing(self):
        recorder = self.make()
        result = recorder.perform(LATE, tensor(7), tensor(3))
        assert float(to_numpy(result)) == 21
        assert recorder.operations == []

    def test_keeps_what_is_not_late_whatever_its_constants(self):
        recorder = self.make()
        recorder.perform(AT_ONCE, tensor(7), tensor(3))
        assert recorder.operations == [(AT_ONCE, [None])]

    def test_knows_what_was_hoisted_by_what_it_is(self):
        """A pass may ask for fewer, or for others, than the first one."""

        def add(n, x):
            return x + n

        def double(x):
            return 2 * x

        given = tensor(3)
        probe = Probe([], [given])
        one = probe.hoist(functools.partial(add, 1), given)
        two = probe.hoist(functools.partial(add, 2), given)
        twice = probe.hoist(double, given)
        fewer = Recorder([], probe.constants, probe.hoisted)
        assert fewer.hoist(double, given) is twice
        assert fewer.hoist(functools.partial(add, 1), given) is one
        assert fewer.hoist(functools.partial(add, 2), given) is two
        more = fewer.hoist(functools.partial(add, 5), given)
        assert float(to_numpy(more)) == 8

    def test_does_not_hoist_what_comes_from_a_step(self):
        recorder = Recorder([], [tensor(3)])
        other = tensor(4)
        assert recorder.hoist(lambda x: x, other) is other


def test_a_probe_hoists_and_knows_what_it_hoisted():
    variable = keras.Variable(2.0, dtype="float64")
    probe = Probe([variable], [tensor(5)])
    twice = probe.hoist(lambda x: 2 * x, variable)
    again = probe.hoist(lambda x, y: x + y, twice, variable)
    assert [float(to_numpy(x)) for x in probe.constants] == [5, 10, 15]
    probe.perform(LATE, tensor(1), again)
    assert probe.operations == [(LATE, [2])]
    step_made = tensor(8)
    assert probe.hoist(lambda x: x, step_made) is step_made
    assert len(probe.constants) == 3


@pytest.mark.skipif(
    fast_path("custom_gradient") is None, reason="about what fast paths do"
)
def test_a_replayer_gives_what_was_kept():
    kept = [tensor(100), tensor(200)]
    given = tensor(3)
    replayer = Replayer(kept, [None, None], [], [given])
    found = [
        replayer.perform(LATE, tensor(7), given),
        replayer.perform(AT_ONCE, tensor(7), given),
    ]
    assert [float(to_numpy(x)) for x in found] == [100, 200]


class TestHoisting:
    def test_what_no_step_changes_is_computed_once(self):
        variable, computed = keras.Variable(2.0, dtype="float64"), []

        def double(x):
            computed.append(x)
            return 2 * x

        def step(x):
            twice = hoist(double, variable)
            return x + twice + hoist(double, twice)

        hoisted = hoisting(step, [variable])
        got = [float(to_numpy(hoisted(tensor(x)))) for x in (1, 5, 7)]
        assert got == [13, 17, 19]
        assert len(computed) == 2

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
