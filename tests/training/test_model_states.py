"""Variables of a model in training: made, read and put back."""

import interrupted
import keras
import numpy as np
import pytest

from keras_attention.training.model_states import GROUPS
from keras_attention.training.model_states import groups_of
from keras_attention.training.model_states import is_ready
from keras_attention.training.model_states import make_variables
from keras_attention.training.model_states import read_inputs
from keras_attention.training.model_states import read_variables
from keras_attention.training.model_states import set_variables

INPUTS = (((6, None), "int32"), ((6, None), "int32"))


def ready(make=interrupted.make_tiny):
    model = make()
    assert not is_ready(model)
    make_variables(model, INPUTS)
    assert is_ready(model)
    return model


def test_a_model_gets_the_variables_of_another():
    """Those of dropout and of the optimizer among them."""
    one, other = ready(), ready()
    state = read_variables(one)
    set_variables(other, state)
    for name in GROUPS:
        pairs = zip(groups_of(one)[name], groups_of(other)[name], strict=True)
        for pair in pairs:
            np.testing.assert_array_equal(
                *map(keras.ops.convert_to_numpy, pair)
            )
    values = [x.shape for x in state["values"]["model"]]
    assert (2,) in values  # a random generator


def test_other_variables_are_an_error():
    state = read_variables(ready())
    other = ready(interrupted.make_larger)
    with pytest.raises(ValueError, match="variables of its model differ"):
        set_variables(other, state)


class Sum(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(inputs["a"]) + self.dense(inputs["b"][0])


def test_inputs_of_any_structure_are_made():
    model = Sum()
    model.compile("adam", "mse")
    one = (None, 3), "float32"
    make_variables(model, {"a": one, "b": [one]})
    assert is_ready(model)
    assert model.count_params() == 8


def test_unknown_inputs_are_an_error():
    with pytest.raises(ValueError, match="call `build` first"):
        make_variables(interrupted.make_tiny(), None)


@pytest.mark.tensorflow
def test_shapes_are_read_from_data():
    import tensorflow as tf

    ids = tf.zeros((4, 3), tf.int32)
    data = tf.data.Dataset.from_tensor_slices(((ids, ids), ids)).batch(2)
    one = (None, 3), "int32"
    assert read_inputs(iter(data)) == (one, one)
    assert read_inputs(iter([])) is None
