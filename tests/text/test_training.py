import pytest
from tokenizers import KINDS
from tokenizers import every_kind
from tokenizers import train

from keras_attention.text import CharacterTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text.training import frequent_characters


@every_kind
@pytest.mark.parametrize("size", ["100", 100.0, True])
def test_a_vocabulary_size_is_an_integer(kind, size):
    with pytest.raises(
        ValueError, match="`vocabulary_size` must be a positive integer"
    ):
        train(kind, size=size)


BLANK = [], [""], [" \n", " "]
WITHOUT_TEXT = [
    *((kind, data) for kind in KINDS[1:] for data in BLANK),
    (CharacterTokenizer, []),
    (SymbolTokenizer, ["<s> \v"]),
    (WordPieceTokenizer, ["\u200b"]),
    (WordTokenizer, ["<unk>", "\u3000"]),
]


@pytest.mark.parametrize(("kind", "data"), WITHOUT_TEXT)
def test_no_text_is_an_error(kind, data):
    with pytest.raises(ValueError, match=r"needs text.*no (character|token)"):
        train(kind, data)


def test_frequent_characters_come_first_and_ties_are_sorted():
    text = ["b c c \0\u2581\u2585", "a d", "e"]
    assert frequent_characters(text, 1, 9, "A") == [*"cabde"]
    assert frequent_characters(text, 1, 2, "A") == [*"ca"]
    assert frequent_characters(text, 2 / 6, 9, "A") == ["c"]
    assert frequent_characters(text, 0.4, 9, "A") == [*"ca"]
    assert frequent_characters(text, 1, 0, "A") == []


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic(kind):
    text = [f"{n * n * 7919 % 99991} {n % 7} Wort" for n in range(500)]
    first, again = train(kind, text, 400), train(kind, iter(text), 400)
    assert again.get_config() == first.get_config()
    assert first.vocabulary_size <= 400
