"""What a Seq2Seq refuses, and what it says about it."""

import keras
import numpy as np
import pytest
from keras import layers
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

SOURCE = np.array([[2, 4, 5, 3], [2, 4, 3, 0]], "int32")
EAGER = keras.backend.backend() != "jax"  # which compiles in any case
TARGET = np.array([[2, 4, 6, 3], [2, 5, 3, 0]], "int32")


def make(**changes):
    cell = AttentionDecoderCell(layers.GRUCell(4), BahdanauAttention(3))
    arguments = {
        "source_vocabulary_size": 7,
        "target_vocabulary_size": 8,
        "embedding_dim": 3,
        "encoder": RecurrentEncoder(2, cell="gru"),
        "decoder": AttentionDecoder(cell),
        "bridge": StateBridge(),
    }
    return Seq2Seq(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoder": layers.LSTM}, "the class LSTM.*RecurrentEncoder"),
        ({"encoder": "lstm"}, "`encoder` must be an object of Layer"),
        ({"decoder": layers.LSTM(4)}, r"Wrap the cell: AttentionDecoder\(cell"),
        ({"bridge": "dense"}, "`bridge` must be an object of Layer"),
        ({"bridge": StateBridge}, "the class StateBridge"),
        (
            {"encoder": RecurrentEncoder(4, bidirectional=False)},
            "bidirectional=False",
        ),
        (
            {
                "encoder": layers.GRU(
                    4, return_sequences=True, return_state=True
                )
            },
            "one way. Use StateBridge",
        ),
        ({"embedding_dim": "3"}, "`embedding_dim` must be a positive integer"),
        ({"source_vocabulary_size": 7.0}, "`source_vocabulary_size`"),
        ({"dropout": 1.5}, r"`dropout` must be in \[0, 1\)"),
        ({"word_dropout": 1.5}, r"`word_dropout` must be in \[0, 1\)"),
    ],
)
def test_refuses_parts_that_do_not_fit(changes, words):
    with pytest.raises(ValueError, match=words):
        make(**changes)


def test_a_one_way_encoder_has_a_bridge_of_its_own():
    model = make(
        encoder=RecurrentEncoder(4, cell="gru", bidirectional=False),
        bridge=StateBridge(bidirectional=False),
    )
    model.build(((None, None), (None, None)))
    assert model((SOURCE, TARGET)).shape == (2, 4, 8)


def test_a_bridge_needs_states():
    encoder = layers.Bidirectional(layers.GRU(2, return_sequences=True))
    model = make(encoder=encoder)
    with pytest.raises(ValueError, match="`, which returns no states"):
        model((SOURCE, TARGET))


@pytest.mark.parametrize("inputs", [SOURCE, (SOURCE,), [SOURCE] * 3])
def test_needs_a_pair(inputs):
    with pytest.raises(ValueError, match="needs a pair, of source and target"):
        make()(inputs)


def test_generates_only_with_weights():
    with pytest.raises(ValueError, match=r"generate needs.*model\.build\("):
        make().generate(SOURCE)


@pytest.mark.parametrize("search", ["beam", 5, BeamSearch])
def test_generates_only_by_a_search(search):
    model = make()
    model.build(((None, None), (None, None)))
    with pytest.raises(ValueError, match=r"`search`.*BeamSearch\(5\)"):
        model.generate(SOURCE, search)


def fit(model, x, y, **kwargs):
    model.compile("sgd", loss=SequenceCrossentropy(), run_eagerly=EAGER)
    return model.fit(x, y, verbose=0, **kwargs)


@pytest.mark.parametrize(
    ("source", "target", "labels", "words"),
    [
        (7, 4, 4, r"source ids from 0 to 6\. Received.*to 7"),
        (4, 8, 4, r"target ids from 0 to 7"),
        (4, 4, 8, r"target ids from 0 to 7"),
        (4, 4, -1, r"ids from -1"),
    ],
)
def test_ids_are_those_of_the_vocabulary(source, target, labels, words):
    arrays = [x.copy() for x in (SOURCE, TARGET, TARGET)]
    for array, new in zip(arrays, (source, target, labels), strict=True):
        array[0, 1] = new
    with pytest.raises(ValueError, match=words):
        fit(make(), arrays[:2], arrays[2])


class Batches(keras.utils.PyDataset):
    """A dataset, whose ids nobody sees beforehand."""

    def __init__(self, labels):
        super().__init__()
        self.labels = labels

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return (SOURCE, TARGET), self.labels


@pytest.mark.slow
@pytest.mark.parametrize("form", some(["list", "one", "none"], 1))
def test_a_first_batch_without_a_loss_stops_training(form):
    model, labels = make(), TARGET.copy()
    labels[0, 1] = 9
    callbacks = {
        "list": [keras.callbacks.History()],
        "one": keras.callbacks.History(),
        "none": None,
    }[form]
    with pytest.raises(ValueError, match=r"loss is NaN.*vocabulary_size=8"):
        fit(model, Batches(labels), None, callbacks=callbacks)
    fit(make(), Batches(TARGET), None, callbacks=callbacks)
