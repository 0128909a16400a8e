"""Each tokenizer runs in `libtensorflow` with what Serving has built in."""

import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from dates import all_dates
from dates import make_pairs
from hostile import hostile_texts
from served import ask
from source import ROOT

import keras_attention
from keras_attention.export.saved_model import save_signatures
from keras_attention.translation.graph import TEXT

pytestmark = pytest.mark.slow
PIECES = {  # and an operation of `tensorflow_text` in their graphs
    "SentencePieceTokenizer": "SentencepieceOp",
    "WordPieceTokenizer": "FastBertNormalize",
}

NAMES = [
    name
    for name in dir(keras_attention)
    if name.endswith("Tokenizer")
    and not name.startswith(("Abstract", "Parallel"))  # is made of others
]

SENTENCES = make_pairs(random.Random(3).sample(all_dates(True), 200), 3)[0]
TEXTS = [*SENTENCES[:10], "", *SENTENCES[:3], "new words, 3 of them!"]
TEXTS = [text.encode() for text in TEXTS] + hostile_texts(39, SENTENCES, 3)


def export(tokenizer, folder):
    """Write what a translator does with text, without a model between."""

    def serve(text):
        ids = tokenizer.tokenize(text, 64)
        return {
            "tokens": tokenizer.tokens(ids),
            "texts": tokenizer.detokenize(ids),
        }

    function = tf.function(serve, [TEXT], autograph=False)
    save_signatures(folder, {"serving_default": function}, [tokenizer])


@pytest.mark.parametrize("name", NAMES)
def test_a_tokenizer_needs_nothing_that_serving_lacks(name, tmp_path):
    """Only those of pieces need what plain TensorFlow lacks as well."""
    options = (
        {} if name in (*PIECES, "SymbolTokenizer") else {"lowercase": True}
    )
    if name == "TaggedTokenizer":
        text = keras_attention.CharacterTokenizer.train(
            SENTENCES, 300, **options
        )
        tokenizer = keras_attention.text.TaggedTokenizer(text, ["A", "B"])
    else:
        cls = getattr(keras_attention, name)
        tokenizer = cls.train(SENTENCES, 300, **options)
    export(tokenizer, tmp_path / "1")
    requests = [("serving_default", TEXTS)]
    found = ask(tmp_path / "1", requests, with_operations=name in PIECES)
    foreign = found["used"] - found["own"]
    assert foreign <= found["linked"]
    assert (PIECES.get(name) in foreign) == bool(foreign)
    (answer,) = found["answers"]
    ids = tokenizer.tokenize(TEXTS, 64)
    assert np.array_equal(answer["tokens"], tokenizer.tokens(ids).numpy())
    assert np.array_equal(answer["texts"], tokenizer.detokenize(ids).numpy())


LOAD = """
import sys
import tensorflow as tf
for folder in sys.argv[1:]:
    try:
        tf.saved_model.load(folder)
    except Exception as error:
        print(error)
"""


def test_the_error_without_tensorflow_text_is_in_the_guide(tmp_path):
    folders = [tmp_path / name for name in PIECES]
    for folder in folders:
        cls = getattr(keras_attention, folder.name)
        export(cls.train(SENTENCES, 300), folder)
    said = subprocess.run(
        [sys.executable, "-c", LOAD, *folders], capture_output=True, text=True
    ).stdout
    guide = (ROOT / "docs/guides/exporting.py").read_text()
    for operation in PIECES.values():
        error = f"Op type not registered '{operation}' in binary running on"
        assert error in said
        assert error in guide


def test_there_are_tokenizers():
    assert "CharacterTokenizer" in NAMES
