"""Nothing of a model outlives it: build, train, generate, drop."""

import gc
import weakref

import keras
import numpy as np
import pytest
from ready import GRAPH
from seq2seqs import make_model

from keras_attention import Sampling
from keras_attention import SequenceCrossentropy

IDS = np.random.default_rng(0).integers(4, 20, (2, 8))


def use_one_model(optimizer):
    """Build a model and use it; return what tells whether it is alive."""
    model = make_model(words=20, attention_layer_size=5, tie_embeddings="all")
    model.compile(optimizer, SequenceCrossentropy(), **GRAPH)
    model.fit((IDS, IDS), IDS, verbose=0)
    model.generate(IDS, Sampling(seed=0, max_length=2))
    return [weakref.ref(x) for x in (model, model.decoder, model.decoder.cell)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "optimizer",
    [
        pytest.param(lambda: "sgd", id="sparse gradients"),
        pytest.param(
            lambda: keras.optimizers.Adam(global_clipnorm=1.0),
            id="dense gradients, whose graph TensorFlow keeps",
        ),
    ],
)
def test_no_layer_outlives_its_model(optimizer):
    seen = use_one_model(optimizer())
    keras.backend.clear_session()
    gc.collect()
    assert [x() for x in seen] == [None] * len(seen)
