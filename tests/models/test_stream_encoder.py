"""Encoders that are read part by part give what they give of the whole."""

import keras
import numpy as np
import pytest
import samples
from keras import layers
from keras import ops
from ready import dtype_policy

import keras_attention as ka
from keras_attention.models.stream_encoder import find_reader

ROWS, STEPS, SIZE = 3, 7, 4
BOTH = {"return_sequences": True, "return_state": True}
ENCODERS = {
    "lstm": lambda: layers.LSTM(5, **BOTH),
    "gru": lambda: layers.GRU(5, **BOTH),
    "simple": lambda: layers.SimpleRNN(5, dropout=0.3, **BOTH),
    "stack of cells": lambda: layers.RNN(
        [layers.LSTMCell(5), layers.GRUCell(3)], **BOTH
    ),
    "layers": lambda: ka.RecurrentEncoder(
        5, 2, "layer_norm_lstm", bidirectional=False, dropout=0.4
    ),
    "with its inputs": lambda: ka.RecurrentEncoder(
        5, 2, "gru", bidirectional=False, append_inputs=True
    ),
    "residual": lambda: ka.RecurrentEncoder(
        SIZE, 3, "gru", bidirectional=False, residual=True
    ),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_parts_give_the_whole(name):
    with dtype_policy("float64"):
        encoder = ENCODERS[name]()
    x = samples.draw(ROWS, STEPS, SIZE)
    mask = samples.mask([7, 3, 5], STEPS)
    mask[0, 2] = False  # padding between words
    wanted, *states = encoder(x, mask=mask)
    reader = find_reader(encoder)
    found, own = [], reader.first_states(ROWS)
    for part in (slice(0, 2), slice(2, 3), slice(3, 7)):
        outputs, real, own = reader.read_on(x[:, part], mask[:, part], own)
        found.append(outputs)
        np.testing.assert_array_equal(real, mask[:, part])
    found = ops.concatenate(found, axis=1)
    real = mask[..., None]
    samples.assert_close(
        ops.where(real, found, 0), ops.where(real, wanted, 0), 1e-6
    )
    flat = keras.tree.flatten(states)
    samples.assert_close(list(own), flat, 1e-6)


class Own(layers.Layer):
    """An encoder of one's own: the mean of this frame and the one before."""

    def call(self, x):
        before = ops.pad(x, [[0, 0], [1, 0], [0, 0]])[:, :-1]
        return (x + before) / 2

    def first_states(self, rows):
        return [ops.zeros((rows, 1, SIZE))]

    def read_on(self, sequence, mask, states):
        joined = ops.concatenate([states[0], sequence], axis=1)
        return (joined[:, 1:] + joined[:, :-1]) / 2, mask, [sequence[:, -1:]]


def test_an_encoder_of_ones_own():
    encoder = Own()
    assert find_reader(encoder) is encoder


class Backwards(layers.LSTM):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return super().call(ops.flip(sequences, axis=1), initial_state, mask)


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (lambda: ka.RecurrentEncoder(5), "bidirectional=True, which begins"),
        (lambda: layers.Bidirectional(layers.LSTM(5, **BOTH)), "begins at"),
        (lambda: layers.LSTM(5, go_backwards=True, **BOTH), "go_backwards"),
        (lambda: layers.GRU(5, stateful=True, **BOTH), "stateful=True"),
        (lambda: Backwards(5, **BOTH), "Backwards `.*may need the end"),
        (lambda: layers.Dense(5, name="odd"), "Dense `odd`, which may need"),
    ],
)
def test_encoders_that_need_the_end(encoder, said):
    with pytest.raises(ValueError, match=said):
        find_reader(encoder())
