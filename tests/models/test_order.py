"""Encoders that change the order or the length of their source."""

import keras
import numpy as np
import pytest
from keras import layers
from keras import ops
from masked import masked
from samples import to_numpy
from seq2seqs import built_model
from seq2seqs import make_model

from keras_attention import StateBridge

SIZE = 4
BOTH = {"return_sequences": True, "return_state": True}
SOURCE = np.array([[2, 5, 6, 7, 3]])
TARGET = np.array([[2, 5, 6, 7]])
PADDED = {
    "behind": np.pad(SOURCE, ((0, 0), (0, 3))),
    "in front": np.pad(SOURCE, ((0, 0), (3, 0))),
}


def backward(**options):
    return layers.GRU(SIZE, go_backwards=True, **{**BOTH, **options})


def functional():
    x = keras.Input((None, 5))
    sequence, state = backward()(x)
    return keras.Model(x, [layers.Dropout(0.1)(sequence), state])


def chain(*more):
    return keras.Sequential([backward(return_state=False), *more])


class Own(layers.Layer):
    """A function of sequences, and of their masks."""

    def __init__(self, function, of_mask=None):
        super().__init__()
        self.function, self.of_mask = function, of_mask
        self.supports_masking = True

    def call(self, x):
        return self.function(x)

    def compute_mask(self, x, previous_mask=None):
        return self.of_mask(previous_mask) if self.of_mask else previous_mask


def flip(x):
    return ops.flip(x, axis=1)


def half(x):
    return x[:, ::2]


def make(encoder, **changes):
    keras.utils.set_random_seed(0)
    bridge = None
    if encoder in (backward, functional):
        bridge = StateBridge(units=8, bidirectional=False)
    return built_model(encoder=encoder(), bridge=bridge, **changes)


ENCODERS = {
    "backwards": backward,
    "a functional model": functional,
    "a chain": lambda: chain(layers.LayerNormalization(), layers.Dense(SIZE)),
    "a chain that turns it again": lambda: chain(layers.Lambda(flip)),
    "its own mask": lambda: Own(flip, flip),
    "half of it": lambda: Own(half, half),
    "a Lambda with a mask": lambda: layers.Lambda(
        flip, mask=lambda _, mask: flip(mask)
    ),
}


@pytest.mark.filterwarnings("ignore:.*does not support masking")
@pytest.mark.parametrize("name", ENCODERS)
def test_a_row_alone_is_the_row_in_a_batch(name):
    model = make(ENCODERS[name])
    want = to_numpy(model((SOURCE, TARGET)))
    pads = PADDED if name != "half of it" else {"behind": PADDED["behind"]}
    for padded in pads.values():
        found = to_numpy(model((padded, TARGET)))
        np.testing.assert_allclose(found, want, atol=1e-5)


def test_weights_are_in_the_order_of_the_source():
    model = make(backward)
    reverse, back = model.encoder, layers.GRU(SIZE, **BOTH)
    (found,) = to_numpy(model.attend(SOURCE, TARGET))
    for padded, start in zip(PADDED.values(), (0, 3), strict=True):
        (wide,) = to_numpy(model.attend(padded, TARGET))
        wide = wide[:, :, start : start + 5]
        np.testing.assert_allclose(wide, found, atol=1e-5)
    # The same cell, given the words in reverse order.
    back.build((None, None, 5))
    back.set_weights(reverse.get_weights())
    memory, state = back(flip(model.embed_source(SOURCE)))
    encoded, states, _ = model.encode(SOURCE)
    for x, y in (
        (encoded, flip(memory)),
        (states[0], model.bridge([state])[0]),
    ):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=1e-6)


def test_features_have_one_order_with_and_without_a_mask():
    model = make(backward, features=5)
    features = np.random.default_rng(0).normal(size=(1, 4, 5))
    features = features.astype("float32")
    plain, _, mask = model.encode(ops.convert_to_tensor(features))
    assert mask is None
    given = masked(features, ops.ones((1, 4), "bool"))
    pair = to_numpy((plain, model.encode(given)[0]))
    np.testing.assert_allclose(*pair, atol=1e-6)


@pytest.mark.parametrize(
    "encoder",
    [
        layers.Conv1D(SIZE, 2, strides=2, name="odd"),
        layers.MaxPooling1D(2, name="odd"),
        layers.Cropping1D((1, 0), name="odd"),
        layers.ZeroPadding1D((1, 1), name="odd"),
        layers.UpSampling1D(2, name="odd"),
        layers.Reshape((-1, 1), name="odd"),
        layers.Permute((2, 1), name="odd"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_another_length_without_a_mask_names_the_encoder(encoder):
    model = make_model(encoder=encoder, bridge=None)
    words = np.pad(SOURCE, ((0, 0), (0, 3)))
    with pytest.raises(ValueError, match=r"`odd`.*`compute_mask`"):
        model((words, TARGET))


def test_a_mask_of_another_length_names_the_encoder():
    model = make_model(encoder=Own(half), bridge=None)
    with pytest.raises(ValueError, match=r"Own `own.*3 positions of 5"):
        model((SOURCE, TARGET))


def test_two_layers_of_one_direction_are_refused():
    model = make_model(
        encoder=chain(layers.GRU(SIZE, return_sequences=True)), bridge=None
    )
    with pytest.raises(ValueError, match=r"go_backwards=True.*Bidirectional"):
        model((SOURCE, TARGET))
