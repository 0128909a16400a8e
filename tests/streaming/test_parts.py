"""How the parts of a model read a source that comes in, or why they cannot."""

import keras
import numpy as np
import pytest
import samples
from keras import layers
from keras import ops
from ready import dtype_policy
from seq2seqs import make_model

import keras_attention as ka
from keras_attention.streaming import StreamSteps
from keras_attention.streaming.steps import find_reader

ROWS, STEPS, SIZE = 3, 7, 4
BOTH = {"return_sequences": True, "return_state": True}
HARD = ka.Monotonic("hard")
ZEROS = ka.StateBridge("zeros", bidirectional=False)


def additive(alignment=HARD):
    return ka.BahdanauAttention(4, alignment=alignment)


def steps_of(attention, encoder=None, bridge=ZEROS, window=None, **options):
    encoder = encoder or ka.RecurrentEncoder(6, bidirectional=False)
    options = {**options, "encoder": encoder, "bridge": bridge}
    options["embedding_dim"] = SIZE
    return StreamSteps(
        make_model(
            layers.LSTMCell(6), attention, attention_window=window, **options
        )
    )


class OwnScore(ka.BahdanauAttention):
    score_margin = ka.AbstractAttention.score_margin


class Backwards(layers.LSTM):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return super().call(ops.flip(sequences, axis=1), initial_state, mask)


# What a stream cannot run is named, with a reason and a way out.

ATTENTIONS = {
    "alignment='softmax', which attends to all": lambda: additive("softmax"),
    "alignment='sparsemax', which attends to all": lambda: additive(
        "sparsemax"
    ),
    "'parallel'.*call `model.harden": lambda: additive(ka.Monotonic()),
    "stepwise=True": lambda: additive(ka.Monotonic("hard", stepwise=True)),
    "ForwardAlignment, which keeps": lambda: additive(ka.ForwardAlignment()),
    "LocalPredictive.*length of": lambda: additive(ka.LocalPredictive(2)),
    "CoverageAttention.*earlier weights": lambda: ka.CoverageAttention(
        4, alignment=HARD
    ),
    "LocationAwareAttention.*earlier": lambda: ka.LocationAwareAttention(
        4, 2, 3, alignment=HARD
    ),
    "LocationAttention.*place in": lambda: ka.LocationAttention(
        5, alignment=HARD
    ),
    "GaussianMixtureAttention.*place in": lambda: ka.GaussianMixtureAttention(
        2
    ),
    "MultiHead.*several attentions": lambda: ka.MultiHead(additive(), 2),
    "'parallel'.*harden": lambda: ka.ChunkwiseAttention(
        additive(ka.Monotonic()), additive("softmax"), 2
    ),
    "CoverageAttention, which": lambda: ka.ChunkwiseAttention(
        additive(), ka.CoverageAttention(4), 2
    ),
    "attention=None.*final states": lambda: None,
    "alignment='softmax'": lambda: [additive(), additive("softmax")],
    "OwnScore, which weights .*score_margin = 0": lambda: OwnScore(
        4, alignment=HARD
    ),
}
OTHERS = {
    "bridge=None, which passes": {"bridge": None},
    r"bridge=StateBridge\('dense'\), which passes": {
        "bridge": ka.StateBridge(bidirectional=False)
    },
    "bridge=Identity, which passes": {"bridge": layers.Identity()},
    "copying=True, which numbers": {"copying": True},
    "lexical=True, which reads": {"lexical": True},
    "attention_window, which follows": {"window": (2, 4)},
    "bidirectional=True, which also": {"encoder": ka.RecurrentEncoder(5)},
    "Bidirectional `.*reads from": {
        "encoder": layers.Bidirectional(layers.LSTM(5, **BOTH))
    },
    "go_backwards": {"encoder": layers.LSTM(5, go_backwards=True, **BOTH)},
    "stateful=True": {"encoder": layers.GRU(5, stateful=True, **BOTH)},
    "Backwards `.*may need the end": {"encoder": Backwards(5, **BOTH)},
    "Dense `odd`, which may need": {"encoder": layers.Dense(5, name="odd")},
}


@pytest.mark.parametrize("said", ATTENTIONS)
def test_attentions_that_need_the_end(said):
    with pytest.raises(ValueError, match=f"(?s){said}"):
        steps_of(ATTENTIONS[said]())


@pytest.mark.parametrize("said", OTHERS)
def test_parts_that_need_the_end(said):
    with pytest.raises(ValueError, match=said):
        steps_of(additive(), **OTHERS[said])


def test_every_attention_has_its_reading():
    attentions = [
        additive(ka.LocalMonotonic(3)),
        additive(),
        ka.ChunkwiseAttention(additive(), additive("softmax"), 5),
    ]
    assert steps_of(attentions).lookbacks == [3, 0, 4]
    encoder = layers.LSTM(6, return_sequences=True)
    assert steps_of(additive(), encoder, bridge=None).lookbacks == [0]


# Encoders that are read part by part give what they give of the whole.

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
    samples.assert_close(list(own), keras.tree.flatten(states), 1e-6)
