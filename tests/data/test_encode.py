"""encode: pairs to ids in their order."""

import io
import itertools
import sys

import pytest

from keras_attention.data.encode import PairEncoder
from keras_attention.text import CharacterTokenizer

DIGITS = CharacterTokenizer("0123456789")
MODULE = "keras_attention.data.encode"


def numbered(count):
    return [(str(n), str(n) * 2) for n in range(count)]


def encode(pairs, max_length=None):
    encoder = PairEncoder((DIGITS, DIGITS), max_length, keep_texts=True)
    return [*encoder.encode(pairs)]


def test_few_pairs_are_read_ahead(monkeypatch):
    """However many there are."""
    monkeypatch.setattr(f"{MODULE}.SENTENCES_AT_ONCE", 3)
    read = []

    def endless():
        for n in itertools.count():
            read.append(n)
            yield str(n), "1"

    parts = PairEncoder((DIGITS, DIGITS)).encode(endless())
    for _ in range(5):
        next(parts)
    assert len(read) < 3 * (5 + 2)
    parts.close()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_a_terminal_shows_a_bar(monkeypatch, kind):
    monkeypatch.setattr(f"{MODULE}.SENTENCES_AT_ONCE", 3)
    monkeypatch.setattr(sys, "stdout", kind())
    encode(numbered(10))
    shown = sys.stdout.getvalue()
    assert ("10/Unknown" in shown) == (kind is Terminal)
    assert bool(shown) == (kind is Terminal)
    monkeypatch.setattr(sys, "stdout", Terminal())
    encode(numbered(3))
    assert sys.stdout.getvalue() == ""  # done before there is much to see
