"""Nothing of a model outlives it: build, train, generate, drop, again."""

import gc
import sys
import weakref

import keras
import numpy as np
import pytest
from memory import give_back
from memory import kilobytes
from ready import GRAPH

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import RecurrentEncoder
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

BUILDS, WARM = 12, 4
MOST = 2.0  # megabytes a model
IDS = np.random.default_rng(0).integers(4, 20, (2, 8))


def use_one_model(search):
    """Build a model and use it; return what tells whether it is alive."""
    cell = AttentionDecoderCell(keras.layers.GRUCell(4), BahdanauAttention(4))
    model = Seq2Seq(
        source_vocabulary_size=20,
        target_vocabulary_size=20,
        embedding_dim=4,
        encoder=RecurrentEncoder(2, cell="gru"),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(units=4),
    )
    model.compile("sgd", SequenceCrossentropy(), **GRAPH)
    model.fit((IDS, IDS), IDS, verbose=0)
    model.generate(IDS, search)
    return [weakref.ref(x) for x in (model, model.decoder, cell)]


def test_no_layer_outlives_its_model():
    seen = use_one_model(Sampling(seed=0, max_length=2))
    keras.backend.clear_session()
    gc.collect()
    assert [x() for x in seen] == [None] * len(seen)


def megabytes():
    give_back()
    return kilobytes() / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_models():
    seen, used = [], []
    for _ in range(BUILDS):
        seen += use_one_model(BeamSearch(2, max_length=3))
        used.append(megabytes())
    gc.collect()
    assert not [x for x in seen if x() is not None]
    growth = np.polyfit(np.arange(BUILDS - WARM), used[WARM:], 1)[0]
    assert growth < MOST, used
