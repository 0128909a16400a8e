"""get_alignment: names, objects and configs."""

import keras
import pytest

from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention.alignments import SimplexAlignment
from keras_attention.alignments import get_alignment


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_names_are_mappings(name):
    assert get_alignment(name).mapping == name
    layer = LuongGeneral(alignment=name)
    assert layer.alignment == layer.get_config()["alignment"] == name


def test_an_object_is_copied():
    given = Monotonic(score_bias=-3.0, name="mine")
    again = get_alignment(given)
    assert again is not given
    assert again.get_config() == given.get_config()


def test_a_config_is_what_it_describes():
    given = Monotonic(mode="hard", score_bias=-1.0, name="mine")
    config = keras.saving.serialize_keras_object(given)
    again = get_alignment(config)
    assert again.get_config() == given.get_config()


@pytest.mark.parametrize("wrong", [None, 3, keras.layers.Dense(2), Monotonic])
def test_refuses_what_aligns_nothing(wrong):
    with pytest.raises(ValueError, match="`alignment` must be one of"):
        get_alignment(wrong)


def test_refuses_a_config_of_something_else():
    config = keras.saving.serialize_keras_object(keras.layers.Dense(2))
    with pytest.raises(ValueError, match="`alignment` must be one of"):
        get_alignment(config)


@pytest.mark.parametrize("name", ["hardmax", "", "Monotonic"])
def test_refuses_other_names(name):
    with pytest.raises(ValueError, match="'softmax', 'sparsemax'"):
        get_alignment(name)


def test_mappings_are_not_shared():
    assert get_alignment("softmax") is not get_alignment("softmax")
    assert isinstance(get_alignment("softmax"), SimplexAlignment)
