import numpy as np
from tokenizers import strings

from keras_attention.text import AbstractTokenizer
from keras_attention.text import SymbolTokenizer

SYMBOLS = [
    "tʰ v ɛ",
    "˧˧ k x² ½ ﬁ",
    "V;PST N;ACC;PL <b> '' ?!",
    "e\u0301 é \u1112\u1161\u11ab 한 İ ẞ a\u00a0b",
]


def test_symbols_come_back_as_they_are_written():
    tokenizer = SymbolTokenizer.train(SYMBOLS)
    ids = tokenizer.tokenize(SYMBOLS)
    assert (ids > 0).sum(axis=1).tolist() == [5, 7, 7, 9]
    assert not (ids == 1).any()
    assert strings(tokenizer.detokenize(ids)) == SYMBOLS
    again = AbstractTokenizer.from_json(tokenizer.to_json())
    assert strings(again.detokenize(again.tokenize(SYMBOLS))) == SYMBOLS


def test_white_space_becomes_one_space():
    tokenizer = SymbolTokenizer(["a", "b"])
    ids = tokenizer.tokenize([" a\t b\n", "a\v\f\rb", "\n", "ab"])
    want = [[2, 4, 5, 3], [2, 4, 5, 3], [2, 3, 0, 0], [2, 1, 3, 0]]
    np.testing.assert_array_equal(ids, want)
    assert strings(tokenizer.detokenize(ids)) == ["a b", "a b", "", "<unk>"]


def test_all_symbols_are_known_unless_a_size_is_given():
    text = (f"s{n}" for n in range(20_000))
    assert SymbolTokenizer.train(text).vocabulary_size == 20_004
    assert SymbolTokenizer.train(["a b b", "c"], 6).vocabulary == ["b", "a"]
