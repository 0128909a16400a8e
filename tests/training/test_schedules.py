"""schedules: their formulas, wherever Keras takes a schedule."""

import json
import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import InverseSigmoidSchedule
from keras_attention import InverseSquareRootSchedule


def value(scale, step):
    return float(InverseSigmoidSchedule(scale)(step))


@pytest.fixture
def floatx():
    before = keras.config.floatx()
    yield keras.config.set_floatx
    keras.config.set_floatx(before)


@pytest.mark.parametrize("scale", [1, 20, 1000.0])
def test_is_its_formula(scale):
    for step in (0, 1, 7, 60, 100, 500):
        want = scale / (scale + math.exp(step / scale))
        assert value(scale, step) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("step", [0, 10**4, 10**7, 2**31 - 1])
def test_is_a_probability_however_late(step):
    assert 0 <= value(20, step) <= 1


def test_many_steps_at_once_never_rise():
    steps = np.arange(3000).reshape(3, 1000)
    found = ops.convert_to_numpy(InverseSigmoidSchedule(20)(steps))
    assert found.shape == steps.shape
    assert found[1, 7] == pytest.approx(value(20, 1007))
    assert np.all(np.diff(found.reshape(-1)) <= 0)


@pytest.mark.parametrize(
    ("kind", "wide"), [("float16", "float32"), ("float64", "float64")]
)
def test_computes_in_float32_or_wider(floatx, kind, wide):
    floatx(kind)
    assert ops.dtype(InverseSigmoidSchedule(20)(10**6)) == wide


def test_is_a_learning_rate_of_any_optimizer():
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(InverseSigmoidSchedule(2)), "mae")
    x, y = np.ones((3, 1)), np.full((3, 1), 99.0)  # a slope of 1 per step
    model.build((None, 1))
    (before,) = model.get_weights()
    model.fit(x, y, batch_size=1, verbose=0)
    (after,) = model.get_weights()
    learned = sum(value(2, step) for step in range(3))
    assert (after - before).item() == pytest.approx(learned, rel=1e-5)


# InverseSquareRootSchedule.


@pytest.mark.parametrize("warmup", [1, 4000])
def test_inverse_square_root_is_its_formula(warmup):
    """That of the paper, for as many features as give this peak."""
    steps = np.array([0, 1, 99, 3999, 4000, 16000, 10**6])
    features = 512
    peak = 1 / math.sqrt(features * warmup)
    found = InverseSquareRootSchedule(peak, warmup)(steps)
    n = 1.0 + steps
    want = features**-0.5 * np.minimum(n**-0.5, n * warmup**-1.5)
    np.testing.assert_allclose(ops.convert_to_numpy(found), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "config"),
    [
        (InverseSigmoidSchedule(20), {"scale": 20}),
        (InverseSquareRootSchedule(0.1, 10), {"peak": 0.1, "warmup": 10}),
    ],
)
def test_keras_serializes_them_alone_and_in_an_optimizer(schedule, config):
    kinds = keras.optimizers.schedules
    revived = kinds.deserialize(kinds.serialize(schedule))
    assert type(revived) is type(schedule)
    assert revived.get_config() == config
    packed = keras.saving.serialize_keras_object(
        keras.optimizers.Adam(schedule)
    )
    again = keras.saving.deserialize_keras_object(
        json.loads(json.dumps(packed))
    )
    rate = again.get_config()["learning_rate"]
    assert rate["registered_name"].startswith("keras_attention>Inverse")
    assert rate["config"] == config
    assert float(again.learning_rate) == pytest.approx(float(schedule(0)))


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        *(
            (InverseSigmoidSchedule, {"scale": x}, "scale` must be .*least 1")
            for x in (0.9, math.nan, None, "1000", True)
        ),
        (InverseSquareRootSchedule, {"peak": 0.0, "warmup": 1}, "peak` must"),
        (InverseSquareRootSchedule, {"peak": 1.0, "warmup": 0}, "warmup` must"),
    ],
)
def test_refuses_what_gives_no_schedule(kind, given, says):
    with pytest.raises(ValueError, match=says):
        kind(**given)
