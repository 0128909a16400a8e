"""Recurrent layers and masks: what is carried, given, obeyed."""

import warnings

import keras
import numpy as np
import pytest
import samples

from keras_attention import RecurrentEncoder
from keras_attention.layers import call_masked
from keras_attention.layers import carried_mask
from keras_attention.layers import directions
from keras_attention.layers import loops_as_keras
from keras_attention.layers import obeys_masks

layers = keras.layers
IDS = np.array([[4, 5, 0], [6, 0, 0]])


class Bare(keras.layers.Layer):
    """Hands on what it reads, from the one argument that it has."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, x):
        mask = carried_mask(x)
        return x[..., 0] * 0 + (
            -1.0 if mask is None else keras.ops.cast(mask, x.dtype)
        )


@keras.saving.register_keras_serializable(package="test_masks")
class Whole(keras.layers.GRU):
    """Adds the mean of all positions."""

    def call(self, x, *args, **kwargs):
        mean = keras.ops.mean(x, axis=1, keepdims=True)
        return super().call(x + mean, *args, **kwargs)


class Declared(Whole):
    pads_freely = True


def embedding(mask_zero=True):
    return keras.layers.Embedding(10, 4, mask_zero=mask_zero)


def test_reads_the_mask_of_an_embedding():
    mask = samples.to_numpy(carried_mask(embedding()(IDS)))
    np.testing.assert_array_equal(mask, IDS != 0)
    assert carried_mask(embedding(mask_zero=False)(IDS)) is None


def test_reads_it_inside_a_compiled_model():
    """Where JAX traces, a tensor has no attribute of that name."""
    inputs = keras.Input((None,), dtype="int32")
    for mask_zero, want in ((True, IDS != 0), (False, -1)):
        features = embedding(mask_zero)(inputs)
        model = keras.Model(inputs, Bare()(features))
        np.testing.assert_array_equal(model.predict(IDS, verbose=0), want)


@pytest.mark.parametrize("wraps", [lambda x: x, keras.layers.Bidirectional])
def test_recurrent_layers_are_given_masks_and_warn_of_nothing(wraps):
    """As from Keras 3.16 on they do of any mask."""
    layer = wraps(keras.layers.GRU(3, return_sequences=True))
    for one in (layer, *directions(layer)):
        one.supports_masking = False  # as Keras 3.16 makes them
    x = embedding()(IDS)
    mask = keras.ops.convert_to_tensor(IDS != 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = call_masked(layer, x, mask)
    assert not layer.supports_masking  # nor is the layer changed in passing
    longer = keras.ops.pad(x, [[0, 0], [0, 2], [0, 0]])
    real = keras.ops.pad(mask, [[0, 0], [0, 2]])
    samples.assert_close(
        samples.to_numpy(call_masked(layer, longer, real))[0, :2],
        samples.to_numpy(found)[0, :2],
    )


def test_others_read_the_mask_themselves():
    found = call_masked(Bare(), embedding()(IDS), IDS != 0, training=False)
    np.testing.assert_array_equal(samples.to_numpy(found), IDS != 0)


def functional(function):
    x = keras.Input((None, 4))
    return keras.Model(x, function(x))


OBEDIENT = {
    "LSTM": lambda: layers.LSTM(3, return_sequences=True),
    "Bidirectional": lambda: layers.Bidirectional(
        layers.GRU(3, return_sequences=True)
    ),
    "RecurrentEncoder": lambda: RecurrentEncoder(3, depth=2),
    "a chain": lambda: keras.Sequential(
        [
            layers.Dense(5, "relu"),
            layers.LayerNormalization(),
            layers.LayerNormalization(axis=[-1]),
            layers.Dropout(0.1),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        ]
    ),
    "a class that says so": lambda: Declared(3),
}
DISOBEDIENT = {
    "a functional model, of which nothing is known": lambda: functional(
        lambda x: layers.MultiHeadAttention(2, 3)(x, x)
    ),
    "Conv1D": lambda: layers.Conv1D(5, 3, padding="same"),
    "Conv1D in a chain": lambda: keras.Sequential(
        [layers.Conv1D(5, 3, padding="same"), layers.Dense(3)]
    ),
    "normalization over time": lambda: layers.LayerNormalization(axis=1),
    "backwards": lambda: layers.GRU(
        3, return_sequences=True, go_backwards=True
    ),
    "both directions of a loop of its own": lambda: layers.Bidirectional(
        Whole(3, return_sequences=True)
    ),
    "softmax over time": lambda: layers.Activation(
        lambda x: keras.ops.softmax(x, axis=1)
    ),
}


def call_with_padding(layer, padding):
    """Return what a layer gives for two sequences of 5 real positions."""
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    mask = np.arange(5 + padding) < 5
    x = np.pad(x, [(0, 0), (0, padding), (0, 0)], constant_values=1.5)
    found = call_masked(layer, x, np.stack([mask, mask]))
    sequence = found[0] if isinstance(found, tuple | list) else found
    return samples.to_numpy(sequence)[:, :5]


@pytest.mark.filterwarnings("ignore:.*destroy the mask information")
@pytest.mark.parametrize("name", [*OBEDIENT][:-1])
def test_padding_changes_nothing_in_a_layer_that_obeys_masks(name):
    layer = OBEDIENT[name]()
    none, some = (call_with_padding(layer, n) for n in (0, 3))
    np.testing.assert_allclose(some, none, atol=1e-6)


@pytest.mark.parametrize("name", [*OBEDIENT, *DISOBEDIENT])
def test_what_obeys_masks_is_known(name):
    layer = {**OBEDIENT, **DISOBEDIENT}[name]()
    assert obeys_masks(layer) == (name in OBEDIENT)


class OwnLoop(layers.GRU):
    def inner_loop(self, sequences, initial_state, mask, training=False):
        return super().inner_loop(sequences, initial_state, mask, training)


@pytest.mark.parametrize(
    ("layer", "wanted"),
    [
        (layers.LSTM(2), True),
        (layers.RNN([layers.GRUCell(2)]), True),
        (OwnLoop(2), False),
        (layers.Dense(2), False),
        (layers.Bidirectional(layers.GRU(2)), False),
    ],
)
def test_the_loop_of_keras_is_known(layer, wanted):
    assert loops_as_keras(layer) == wanted
