"""get_alignment: names, objects and configs."""

import keras
import pytest

from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention.alignments import get_alignment


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_names_are_mappings(name):
    assert get_alignment(name).mapping == name
    layer = LuongGeneral(alignment=name)
    assert layer.alignment == layer.get_config()["alignment"] == name


def test_a_config_is_what_it_describes():
    given = Monotonic(mode="hard", score_bias=-1.0, name="mine")
    config = keras.saving.serialize_keras_object(given)
    again = get_alignment(config)
    assert again.get_config() == given.get_config()


@pytest.mark.parametrize(
    "wrong",
    [
        *(None, 3, "hardmax", "", "Monotonic", Monotonic),
        keras.layers.Dense(2),
        keras.saving.serialize_keras_object(keras.layers.Dense(2)),
    ],
)
def test_refuses_what_aligns_nothing(wrong):
    says = r"`alignment` must be one of .*'softmax', 'sparsemax'.*Monotonic\(\)"
    with pytest.raises(ValueError, match=says):
        get_alignment(wrong)
