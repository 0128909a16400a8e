"""All tokenizers, for the tests that each of them must pass."""

import pytest

from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer

TEXT = ["Ein Mann, der lacht.", "", "Über 3.5 km: der Hund?"]
OPTIONS = {  # others than the defaults
    CharacterTokenizer: {"normalization": "nfkc", "lowercase": True},
    SentencePieceTokenizer: {"normalization": "nfkc", "lowercase": True},
    SymbolTokenizer: {},
    WordPieceTokenizer: {"lowercase": True},
    WordTokenizer: {"normalization": "nfkc", "lowercase": True},
}
KINDS = [*OPTIONS]
every_kind = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda kind: kind.__name__
)


def train(kind, text=TEXT, size=1000, **options):
    return kind.train(text, size, **options)


def strings(tensor):
    return [text.decode() for text in tensor.numpy()]
