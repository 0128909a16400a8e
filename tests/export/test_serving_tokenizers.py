"""Each tokenizer runs in `libtensorflow` with what Serving has built in."""

import random

import keras
import numpy as np
import pytest
from dates import all_dates
from dates import make_pairs
from hostile import hostile_texts
from served import ask

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]
NAMES = []

if keras.backend.backend() == "tensorflow":
    import keras_attention
    from keras_attention import AttentionDecoder
    from keras_attention import AttentionDecoderCell
    from keras_attention import GreedySearch
    from keras_attention import RecurrentEncoder
    from keras_attention import Seq2Seq
    from keras_attention import StateBridge
    from keras_attention import Translator

    NAMES = [
        name
        for name in dir(keras_attention)
        if name.endswith("Tokenizer") and not name.startswith("Abstract")
    ]

SENTENCES = make_pairs(random.Random(3).sample(all_dates(True), 200), 3)[0]
TEXTS = [*SENTENCES[:10], "", *SENTENCES[:3], "new words, 3 of them!"]
TEXTS = [text.encode() for text in TEXTS] + hostile_texts(39, SENTENCES, 3)


def untrained(tokenizer):
    """Write by a tokenizer what a model says that has learned nothing."""
    size = tokenizer.vocabulary_size
    cell = AttentionDecoderCell(keras.layers.LSTMCell(16), attention=None)
    model = Seq2Seq(
        source_vocabulary_size=size,
        target_vocabulary_size=size,
        embedding_dim=8,
        encoder=RecurrentEncoder(8),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(),
    )
    model((np.ones((1, 3), "int32"), np.ones((1, 3), "int32")))  # builds it
    return Translator(model, tokenizer, tokenizer, GreedySearch(max_length=4))


@pytest.mark.parametrize("name", NAMES)
def test_a_tokenizer_needs_nothing_that_serving_lacks(name, tmp_path):
    keras.utils.set_random_seed(0)
    tokenizer = getattr(keras_attention, name).train(SENTENCES, 300)
    untrained(tokenizer).export(tmp_path / "1")
    found = ask(tmp_path / "1", [("align", TEXTS), ("serving_default", [])])
    assert found["used"] - found["own"] <= found["linked"]
    answer, empty = found["answers"]
    assert empty["translations"].shape == (0, 1)
    wanted = tokenizer.tokens(tokenizer.tokenize(TEXTS)).numpy()
    assert np.array_equal(answer["source_tokens"], wanted)


def test_there_are_tokenizers():
    assert "CharacterTokenizer" in NAMES
