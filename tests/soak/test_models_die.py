"""Nothing of a model outlives it: build, train, generate, drop, again.

`pytest tests/soak --builds 50` measures memory as well; the suite does not.
"""

import gc
import shutil
import sys
import weakref

import keras
import numpy as np
import pytest
from memory import give_back
from memory import kilobytes
from ready import GRAPH
from seq2seqs import make_model

from keras_attention import BeamSearch
from keras_attention import Sampling
from keras_attention import SequenceCrossentropy

if keras.backend.backend() == "tensorflow":
    from keras_attention import CharacterTokenizer
    from keras_attention import Translator

WARM = 4  # models that fill the caches of TensorFlow
MOST = 2.0  # megabytes a model
IDS = np.random.default_rng(0).integers(4, 20, (2, 8))


def use_one_model(search, folder=None, optimizer="sgd", tie=False):
    """Build a model and use it; return what tells whether it is alive."""
    model = make_model(words=20, attention_layer_size=5, tie_embeddings=tie)
    model.compile(optimizer, SequenceCrossentropy(), **GRAPH)
    model.fit((IDS, IDS), IDS, verbose=0)
    model.generate(IDS, search)
    if folder is not None and keras.backend.backend() == "tensorflow":
        tokenizer = CharacterTokenizer("0123456789abcdef", "identity")
        assert tokenizer.vocabulary_size == 20
        Translator(model, tokenizer, tokenizer, search).export(folder / "1")
        shutil.rmtree(folder)
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
    search = Sampling(seed=0, max_length=2)
    seen = use_one_model(search, optimizer=optimizer(), tie="all")
    keras.backend.clear_session()
    gc.collect()
    assert [x() for x in seen] == [None] * len(seen)


def megabytes():
    give_back()
    return kilobytes() / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_models(request, tmp_path, capsys):
    builds = request.config.getoption("builds", None)
    if builds is None:
        pytest.skip("lasts: run `pytest tests/soak --builds 50`")
    seen, used = [], []
    for _ in range(builds):
        search = BeamSearch(2, max_length=3)
        seen += use_one_model(search, tmp_path / "exported")
        used.append(megabytes())
    gc.collect()
    assert not [x for x in seen if x() is not None]
    growth = np.polyfit(np.arange(builds - WARM), used[WARM:], 1)[0]
    with capsys.disabled():
        print(f"\n{growth:.2f} MB a model")
    assert growth < MOST, used
