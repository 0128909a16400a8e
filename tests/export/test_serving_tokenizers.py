"""Each tokenizer runs with the operations that Serving has built in."""

import random

import numpy as np
import pytest
import tensorflow as tf
from helpers.dates import all_dates
from helpers.dates import make_pairs
from hostile import hostile_texts
from served import ask
from source import ROOT

import keras_attention
from keras_attention.export import TensorTokenizer
from keras_attention.export.saved_model import save_signatures
from keras_attention.export.translation_graph import TEXT

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
    tokenizer = TensorTokenizer(tokenizer)

    def serve(text):
        ids = tokenizer.tokenize(text, 64)
        return {
            "tokens": tokenizer.tokens(ids),
            "texts": tokenizer.detokenize(ids),
        }

    function = tf.function(serve, [TEXT], autograph=False)
    save_signatures(folder, {"serving_default": function}, [tokenizer])


def make(name):
    if name == "TaggedTokenizer":
        return keras_attention.TaggedTokenizer(
            make("CharacterTokenizer"), ["A", "B"]
        )
    options = {"lowercase": True}
    if name in (*PIECES, "SymbolTokenizer"):
        options = {}
    kind = getattr(keras_attention, name)
    return kind.train(SENTENCES, 300, **options)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Tokenizers, each with the folder where it was written."""
    folder = tmp_path_factory.mktemp("tokenizers")
    found = {name: (make(name), folder / name) for name in NAMES}
    for tokenizer, path in found.values():
        export(tokenizer, path)
    return found


@pytest.mark.parametrize("pieces", [False, True])
def test_a_tokenizer_needs_nothing_that_serving_lacks(exported, pieces):
    """Only those of pieces need what plain TensorFlow lacks as well."""
    asked = {k: x for k, x in exported.items() if (k in PIECES) == pieces}
    requests = [(path, "serving_default", TEXTS) for _, path in asked.values()]
    found = ask(requests, with_operations=pieces)
    for (name, (tokenizer, path)), answer in zip(
        asked.items(), found["answers"], strict=True
    ):
        assert not pieces or PIECES[name] in found["used"][str(path)]
        ids = tokenizer.tokenize(TEXTS, 64)
        tokens, texts = tokenizer.tokens(ids), tokenizer.detokenize(ids)
        for key, wanted in (("tokens", tokens), ("texts", texts)):
            given = [x.decode() for x in np.ravel(answer[key])]
            assert given == wanted.ravel().tolist()
    assert asked


@pytest.mark.parametrize("name", PIECES)
def test_the_error_without_tensorflow_text_is_in_the_guide(exported, name):
    request = exported[name][1], "serving_default", TEXTS
    error = f"Op type not registered '{PIECES[name]}' in binary running on"
    with pytest.raises(RuntimeError, match=error):
        ask([request], with_operations=False)
    assert error in (ROOT / "docs/guides/exporting.md").read_text()
