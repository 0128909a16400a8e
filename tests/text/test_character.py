import unicodedata

import pytest

from keras_attention.text import CharacterTokenizer

pytestmark = pytest.mark.tensorflow

TEXT = [
    "  two  spaces, a\ttab and\na line ",
    "Füße, Œuvre, señor",
    "👨‍👩‍👧 und 🇩🇪",
    "שלום עולם",
    "日本語",
    "nul\x00byte",
    "½ ﬁ Ⅷ … e\u0301",
]


@pytest.mark.parametrize("normalization", ["nfkd", "nfc", "identity"])
def test_known_text_comes_back(normalization):
    tokenizer = CharacterTokenizer.train(TEXT, 10**4, 1, normalization)
    got = tokenizer.detokenize(tokenizer.tokenize(TEXT)).numpy()
    form = normalization.upper()
    want = TEXT
    if form != "IDENTITY":
        want = [unicodedata.normalize(form, text) for text in TEXT]
    assert [text.decode() for text in got] == want


def test_unknown_characters_are_replaced_one_for_one():
    tokenizer = CharacterTokenizer("ab")
    ids = tokenizer.tokenize(["axyb"])
    assert ids.numpy().tolist() == [[2, 4, 1, 1, 5, 3]]
    assert tokenizer.detokenize(ids).numpy()[0].decode() == "a\ufffd\ufffdb"


def test_longer_strings_are_refused():
    with pytest.raises(ValueError, match=r"CharacterTokenizer\.train"):
        CharacterTokenizer(["a", "bc"])
