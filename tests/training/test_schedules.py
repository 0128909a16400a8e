"""Schedules: each equal to its formula, and a probability at every step."""

import math

import keras
import numpy as np
import pytest

from keras_attention import InverseSigmoidSchedule
from keras_attention.training.schedules import AbstractSchedule
from keras_attention.training.schedules import ConstantSchedule
from keras_attention.training.schedules import ExponentialSchedule
from keras_attention.training.schedules import LinearSchedule

FORMULAS = [
    (ConstantSchedule(0.3), lambda _: 0.3),
    (LinearSchedule(0.01), lambda i: max(0, 1 - 0.01 * i)),
    (LinearSchedule(0.01, 0.9, 0.2), lambda i: max(0.2, 0.9 - 0.01 * i)),
    (ExponentialSchedule(0.99), lambda i: 0.99**i),
    (
        InverseSigmoidSchedule(20),
        lambda i: 20 / (20 + math.exp(i / 20)),
    ),
]
every_schedule = pytest.mark.parametrize(
    "schedule", [schedule for schedule, _ in FORMULAS]
)


@pytest.mark.parametrize(("schedule", "formula"), FORMULAS)
def test_is_its_formula(schedule, formula):
    for step in (0, 1, 7, 60, 100, 1000):
        got = schedule(step)
        assert isinstance(got, float)
        assert got == pytest.approx(formula(step), rel=1e-12)


@every_schedule
def test_many_steps_at_once(schedule):
    steps = np.arange(12).reshape(3, 4)
    got = schedule(steps)
    assert got.shape == steps.shape
    assert got.tolist() == [[schedule(i) for i in row] for row in steps]


@every_schedule
@pytest.mark.parametrize("step", [0, 10**4, 10**7, 2**62])
def test_is_a_probability_however_late(schedule, step):
    with np.errstate(all="raise", under="ignore"):
        assert 0 <= schedule(step) <= 1


@every_schedule
def test_never_rises(schedule):
    assert np.all(np.diff(schedule(np.arange(3000))) <= 0)


@every_schedule
def test_keras_serializes_it(schedule):
    packed = keras.saving.serialize_keras_object(schedule)
    revived = keras.saving.deserialize_keras_object(packed)
    assert type(revived) is type(schedule)
    assert revived.get_config() == schedule.get_config()


def test_linear_begins_with_teacher_forcing_above_one():
    schedule = LinearSchedule(0.25, offset=1.5)
    assert schedule([0, 1, 2, 3, 6]).tolist() == [1, 1, 1, 0.75, 0]


def test_half_is_where_the_docstrings_say():
    assert ExponentialSchedule(0.999)(693) == pytest.approx(0.5, abs=1e-3)
    assert InverseSigmoidSchedule(1000)(6908) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ConstantSchedule(1.1), "`probability` must be"),
        (lambda: ConstantSchedule(math.nan), "`probability` must be"),
        (lambda: LinearSchedule(0.0), "`slope` must be a positive"),
        (lambda: LinearSchedule(0.1, minimum=-0.1), "`minimum` must be"),
        (lambda: LinearSchedule(0.1, 0.2, 0.3), "cannot be below `minimum`"),
        (lambda: ExponentialSchedule(1.0), "`base` must be between"),
        (lambda: ExponentialSchedule(0.0), "`base` must be between"),
        (lambda: InverseSigmoidSchedule(0.9), "`scale` must be at least 1"),
    ],
)
def test_refuses_what_gives_no_schedule(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_base_says_what_a_schedule_must_define():
    with pytest.raises(NotImplementedError, match="__call__"):
        AbstractSchedule()(0)
    with pytest.raises(NotImplementedError, match="get_config"):
        AbstractSchedule().get_config()
