import pytest
import tensorflow as tf
from tokenizers import strings

from keras_attention.text import CharacterTokenizer

TEXT = [
    "  two  spaces, a\ttab and\na line ",
    "Füße, Œuvre, señor",
    "👨‍👩‍👧 und 🇩🇪",
    "שלום עולם",
    "日本語",
    "nul\x00byte",
    "½ ﬁ Ⅷ … e\u0301",
]


def test_known_text_comes_back():
    tokenizer = CharacterTokenizer.train(TEXT, 10**4, normalization="identity")
    assert strings(tokenizer.detokenize(tokenizer.tokenize(TEXT))) == TEXT


def test_unknown_characters_are_replaced_one_for_one():
    tokenizer = CharacterTokenizer("ab")
    ids = tokenizer.tokenize(["axyb"])
    assert ids.tolist() == [[2, 4, 1, 1, 5, 3]]
    assert tokenizer.detokenize(ids)[0] == "a\ufffd\ufffdb"


def test_a_graph_may_not_know_the_rank():
    text = tf.TensorSpec(None, tf.string)
    count = tf.function(CharacterTokenizer("ab").count, [text])
    assert count(["axyb", ""]).numpy().tolist() == [6, 2]


def test_longer_strings_are_refused():
    with pytest.raises(ValueError, match=r"CharacterTokenizer\.train"):
        CharacterTokenizer(["a", "bc"])
