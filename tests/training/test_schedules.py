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


@pytest.mark.parametrize(
    ("kind", "wide"), [("float16", "float32"), ("float64", "float64")]
)
def test_computes_in_float32_or_wider(floatx, kind, wide):
    floatx(kind)
    assert ops.dtype(InverseSigmoidSchedule(20)(10**6)) == wide


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
