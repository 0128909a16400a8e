"""All tokenizers, for the tests that each of them must pass."""

import numpy as np
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


def strings(found):
    """List strings of an array, or of a tensor of TensorFlow."""
    texts = np.asarray(found).tolist()
    return [x.decode() if isinstance(x, bytes) else x for x in texts]
