"""AbstractAttentionalLayer: the vector, its weights, its configuration."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.decoder.output import AbstractAttentionalLayer


class Joined(AbstractAttentionalLayer):
    def build(self, state_shape, context_shape):
        self.add_attentional_layer(state_shape[-1], context_shape[-1])

    def call(self, state, context):
        output, _ = self.answer(state, [context])
        return output


def inputs():
    draw = np.random.default_rng(0).normal
    return draw(size=(2, 3)), draw(size=(2, 4))


def test_it_is_luongs_equation_5():
    layer = Joined(
        attention_layer_size=5, attention_use_bias=True, dtype="float64"
    )
    state, context = inputs()
    layer(state, context)
    layer.attention_bias.assign(np.arange(5.0))
    kernel = ops.convert_to_numpy(layer.attention_kernel)
    assert kernel.shape == (7, 5)
    wanted = np.tanh(
        np.concatenate([state, context], 1) @ kernel + np.arange(5)
    )
    got = ops.convert_to_numpy(layer(state, context))
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_without_a_layer_it_is_the_context():
    state, context = inputs()
    layer = Joined(output="attention")
    got = ops.convert_to_numpy(layer(state, context))
    np.testing.assert_allclose(got, context, rtol=1e-6)
    assert layer.weights == []


def test_the_outputs():
    state, context = inputs()

    def size(**arguments):
        layer = Joined(**arguments)
        assert layer(state, context).shape[-1] == layer.output_size
        return layer.output_size

    assert size() == size(output="concat", attention_layer_size=5) == 7
    assert size(attention_layer_size=5) == 5
    assert size(output="attention") == 4
    assert size(output="cell", attention_layer_size=5) == 3


def test_without_activation_it_is_linear():
    state, context = inputs()
    layer = Joined(attention_layer_size=2, attention_activation=None)
    once = ops.convert_to_numpy(layer(state, context))
    twice = ops.convert_to_numpy(layer(2 * state, 2 * context))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-5)


def test_the_config_round_trip():
    layer = Joined(
        attention_layer_size=5,
        attention_activation="relu",
        attention_use_bias=True,
        kernel_initializer="he_normal",
        kernel_regularizer=keras.regularizers.L2(0.1),
    )
    again = Joined.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    again(*inputs())
    assert len(again.losses) == 1


def test_refuses_what_cannot_work():
    with pytest.raises(ValueError, match="must be a positive"):
        Joined(attention_layer_size=0)
    with pytest.raises(ValueError, match="cannot be loaded"):
        Joined(attention_activation=lambda x: x)
