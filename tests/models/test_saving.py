"""`.keras` files come back whole, in a process that only imports us."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import LocationAttention
from keras_attention import LuongGeneral
from keras_attention import Perplexity
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy

VOCABULARY = 12

LOAD = """
import sys, warnings
warnings.simplefilter("error", UserWarning)
import json
import keras, keras_attention
import numpy as np
folder, names = sys.argv[1], sys.argv[2:]
words = np.load(f"{folder}/words.npy")
found = {}
for name in names:
    model = keras.models.load_model(f"{folder}/{name}.keras")
    np.save(f"{folder}/{name}_again.npy", model.predict([words] * 2, verbose=0))
    steps = int(model.optimizer.iterations)
    after = model.fit([words] * 2, words, epochs=3, verbose=0).history
    found[name] = [steps, after["loss"]]
print(json.dumps(found))
"""


def functional():
    """Stacked cells of two kinds, two attentions, masks carried along."""
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    encoder = RecurrentEncoder(8)
    memory, *_ = encoder(
        layers.Embedding(VOCABULARY, 8, mask_zero=True)(source)
    )
    cell = AttentionDecoderCell(
        [layers.LSTMCell(16, dropout=0.1), layers.GRUCell(12)],
        [BahdanauAttention(8, normalize=True), LocationAttention(9)],
        order="luong",
        attention_layer_size=10,
        attention_use_bias=True,
    )
    outputs = AttentionDecoder(cell)(
        layers.Embedding(VOCABULARY, 8, mask_zero=True)(target), memory
    )
    return keras.Model([source, target], layers.Dense(VOCABULARY)(outputs))


def whole():
    """A subclassed model with everything in place."""
    cells = [layers.LSTMCell(10), layers.LSTMCell(10)]
    cell = AttentionDecoderCell(
        cells, LuongGeneral(use_scale=True), attention_layer_size=8
    )
    return Seq2Seq(
        source_vocabulary_size=VOCABULARY,
        target_vocabulary_size=VOCABULARY,
        embedding_dim=8,
        encoder=RecurrentEncoder(6, depth=2),
        bridge=StateBridge(units=10),
        decoder=AttentionDecoder(cell),
        tie_embeddings=True,
        dropout=0.1,
    )


@pytest.fixture(scope="module")
def reloaded(tmp_path_factory):
    """Outputs before and after, and what a new process says of training."""
    folder = tmp_path_factory.mktemp("saved")
    words = np.random.default_rng(0).integers(1, VOCABULARY, (8, 6))
    words[::2, 4:] = 0
    np.save(folder / "words.npy", words)
    models = {"functional": functional(), "whole": whole()}
    for name, model in models.items():
        model.compile(
            keras.optimizers.Adam(0.01),
            loss=SequenceCrossentropy(label_smoothing=0.1),
            metrics=[TokenAccuracy(), Perplexity()],
        )
        model.fit([words] * 2, words, epochs=2, verbose=0)
        model.save(folder / f"{name}.keras")
        np.save(folder / f"{name}.npy", model.predict([words] * 2, verbose=0))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), *models],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["functional", "whole"])
def test_a_new_process_computes_the_same(reloaded, name):
    folder, _ = reloaded
    before, after = (
        np.load(folder / f"{name}{which}.npy") for which in ("", "_again")
    )
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["functional", "whole"])
def test_training_goes_on(reloaded, name):
    steps, losses = reloaded[1][name]
    assert steps == 2
    assert losses[-1] < losses[0]
