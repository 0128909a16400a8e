"""checks: right values pass, wrong ones are named in the error."""

import keras
import numpy as np
import pytest

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_loadable
from keras_attention.checks import check_positive
from keras_attention.checks import check_rate
from keras_attention.checks import check_same_features


@pytest.mark.parametrize("value", [1, 0.1, 1e9, np.float32(2)])
def test_positive(value):
    check_positive("units", value)


@pytest.mark.parametrize("value", [0, -1, -0.5, np.int64(0)])
def test_not_positive(value):
    message = rf"`units` must be positive\. Received: units={value}"
    with pytest.raises(ValueError, match=message):
        check_positive("units", value)


def test_choice():
    check_choice("mode", "sum", ("sum", "mean"))
    check_choice("mode", None, (None, "mean"))
    check_choice("mode", "sum", {"sum": 1})


@pytest.mark.parametrize("choices", [("sum", "mean"), {"sum": 1, "mean": 2}])
@pytest.mark.parametrize("value", ["max", "", None, 3])
def test_no_such_choice(value, choices):
    message = rf"`mode`.*\('sum', 'mean'\)\. Received: mode={value!r}"
    with pytest.raises(ValueError, match=message):
        check_choice("mode", value, choices)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 0.999])
def test_rate(value):
    check_rate("dropout", value)


@pytest.mark.parametrize("value", [-0.1, 1, 1.0, 50, float("nan")])
def test_no_rate(value):
    message = rf"`dropout` must be in \[0, 1\)\. Received: dropout={value}"
    with pytest.raises(ValueError, match=message):
        check_rate("dropout", value)


def test_built():
    layer = keras.layers.Dense(2)
    with pytest.raises(ValueError, match=r"Dense\.step needs.*Call it\."):
        check_built(layer, "step", "Call it.")
    layer.build((None, 3))
    check_built(layer, "step", "Call it.")


def test_loadable():
    check_loadable("activation", keras.activations.tanh)
    check_loadable("activation", None)
    with pytest.raises(ValueError, match="`activation` must be a name"):
        check_loadable("activation", lambda x: x)


def test_same_features():
    layer = keras.layers.Identity()
    check_same_features(layer, (None, 3, 8), (2, 7, 8))
    with pytest.raises(ValueError, match=r"Identity needs.*LuongGeneral"):
        check_same_features(layer, (None, 3, 8), (2, 7, 9))
