"""Tokenizers of characters and of symbols, read without Keras."""

import json
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

PAD, UNKNOWN, START, END = range(4)
SPECIAL_NAMES = ("", "<unk>", "<s>", "</s>")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Kind(NamedTuple):
    """What a class of tokenizers does.

    Attributes:
        split: Function of a text to its entries.
        between: What stands between two of them in a text.
        unknown_text: What is written for an unknown id.
    """

    split: Callable[[str], list[str]]
    between: str
    unknown_text: str


KINDS = {
    "keras_attention>CharacterTokenizer": Kind(list, "", REPLACEMENT),
    "keras_attention>SymbolTokenizer": Kind(
        re.compile(r"\S+", re.ASCII).findall, " ", SPECIAL_NAMES[UNKNOWN]
    ),
}


class PlainTokenizer:
    """Does what the tokenizer does whose config it gets.

    Args:
        kind: Its `Kind`.
        config: Its config.
    """

    def __init__(self, kind: Kind, config: dict):
        self._kind = kind
        self._form = config.get("normalization", "identity")
        self._lower = config.get("lowercase", False)
        self._names = np.array([*SPECIAL_NAMES, *config["vocabulary"]], object)
        first = len(SPECIAL_NAMES)
        self._ids = {x: i for i, x in enumerate(config["vocabulary"], first)}
        self.parts = [self]

    def _entries(self, text):
        text = self._normalized(text)
        if self._lower:
            text = self._normalized(text.replace("\0", REPLACEMENT).lower())
        return self._kind.split(text)

    def _normalized(self, text):
        if self._form == "identity":
            return text
        return unicodedata.normalize(self._form.upper(), text)

    def unknown(self, lines: list[bytes]) -> list[list[str]]:
        """List the entries of each line that it does not know."""
        texts = [line.decode("utf-8", errors="replace") for line in lines]
        return [
            [entry for entry in self._entries(text) if entry not in self._ids]
            for text in texts
        ]

    def tokenize(self, texts: list[str]) -> np.ndarray:
        """Turn texts into ids `(B, T)`, with start and end, padded."""
        get = self._ids.get
        rows = [[get(x, UNKNOWN) for x in self._entries(t)] for t in texts]
        ids = np.full((len(rows), max(map(len, rows)) + 2), PAD, np.int32)
        for row, found in zip(ids, rows, strict=True):
            row[: len(found) + 2] = [START, *found, END]
        return ids

    def detokenize(self, ids: np.ndarray) -> list[str]:
        """Turn ids `(B, T)` into texts."""
        names = self._names.tolist()
        names[UNKNOWN] = self._kind.unknown_text
        texts = []
        for row in ids.tolist():
            row = row[: row.index(END)] if END in row else row
            found = [names[x] for x in row if x not in (PAD, START)]
            texts.append(self._kind.between.join(found))
        return texts

    def tokens(self, ids: np.ndarray) -> np.ndarray:
        """Look up the name of every id."""
        return self._names[ids]


def read_plain(tokenizer: str) -> PlainTokenizer | None:
    """Read a tokenizer, if it is of characters or of symbols.

    Args:
        tokenizer: Its JSON.
    """
    content = json.loads(tokenizer)
    kind = KINDS.get(content["class_name"])
    return None if kind is None else PlainTokenizer(kind, content["config"])
