"""Encode parallel text as ids, a few lines at a time."""

import itertools
import sys
from collections.abc import Iterable
from collections.abc import Iterator
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.files import split_in_parts
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import START
from keras_attention.text.base import FRAME
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.copies import check_shared
from keras_attention.text.copies import copied_ids

SENTENCES_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 2**20
SIDES = "source", "target"
SMALL, LARGE, BYTE = map(np.dtype, ("<u2", "<i4", "u1"))


class EncodedPart(NamedTuple):
    """Consecutive pairs of the text.

    Attributes:
        columns: For each of `PairEncoder.dtypes`, its rows: concatenated
            values `(S,)`, and the length of each row, `(N,)`.
        dropped: The number of pairs that are too long, and the number with a
            blank side.
    """

    columns: list[tuple[np.ndarray, np.ndarray]]
    dropped: np.ndarray


class PairEncoder:
    """Converts pairs of lines to ids, and drops unusable pairs.

    Args:
        tokenizers: The source and target tokenizers.
        max_length: Maximum length of a side, including start and end, or
            `None`.
        copying: Whether unknown words get ids for their positions in the
            source.
        keep_texts: Whether to also keep the lines.

    Raises:
        ValueError: If the vocabularies differ with `copying`.
    """

    def __init__(
        self,
        tokenizers: tuple[AbstractTokenizer, AbstractTokenizer],
        max_length: int | None = None,
        copying: bool = False,
        keep_texts: bool = False,
    ):
        self.tokenizers = tokenizers
        self.max_length = max_length
        self.copying = copying
        self.keep_texts = keep_texts
        if copying:
            check_shared("parallel_dataset", *tokenizers)

    def dtypes(self) -> dict[str, np.dtype]:
        """Return the smallest type for the values of each column."""
        size = max(tokenizer.vocabulary_size for tokenizer in self.tokenizers)
        small = size <= np.iinfo(SMALL).max and not self.copying
        found = {f"{side}.ids": SMALL if small else LARGE for side in SIDES}
        if self.keep_texts:
            found |= {f"{side}.text": BYTE for side in SIDES}  # of UTF-8
        return found

    def settings(self) -> list:
        """Return everything that the columns of a text depend on, for JSON."""
        tokenizers = [tokenizer.to_json() for tokenizer in self.tokenizers]
        return [tokenizers, self.max_length, self.copying, self.keep_texts]

    def encode(self, pairs: Iterable[tuple[str, str]]) -> Iterator[EncodedPart]:
        """Tokenize pairs of lines, with a progress bar on a terminal.

        Args:
            pairs: Lines of source and target.

        Yields:
            The pairs in order, without pairs that are too long or empty.
        """
        parts = split_in_parts(
            pairs,
            lambda pair: max(map(len, pair)),
            SENTENCES_AT_ONCE,
            CHARACTERS_AT_ONCE,
        )
        seen = sys.stdout is not None and sys.stdout.isatty()
        bar = keras.utils.Progbar(None, verbose=int(seen), unit_name="pair")
        count = shown = 0
        for part in map(self._encode, parts):
            yield part
            if count:  # a small text is done before there is anything to see
                bar.update(count)
                shown = count
            count += len(part.columns[0][1]) + int(part.dropped.sum())
        if shown:
            bar.update(count, finalize=True)

    def _encode(self, pairs):
        """Tokenize consecutive pairs."""
        limit = self.max_length
        texts = [
            [line if line.strip() else "" for line in side]
            for side in zip(*pairs, strict=True)
        ]
        read = [
            [tokenizer.read(text) for text in side]
            for tokenizer, side in zip(self.tokenizers, texts, strict=True)
        ]
        lengths = FRAME + np.array([[len(x.ids) for x in y] for y in read])
        empty = lengths.min(axis=0) <= FRAME
        long = ~empty & (lengths.max(axis=0) > (limit or np.inf))
        kept = ~(empty | long)
        columns = []
        for side, n in zip(self._ids(read, kept), lengths, strict=True):
            framed = itertools.chain.from_iterable(
                (START, *ids, END) for ids in side
            )
            values = np.fromiter(framed, "int32", int(n[kept].sum()))
            columns.append((values, n[kept]))
        if self.keep_texts:
            for side in texts:
                lines = [side[i].encode() for i in np.flatnonzero(kept)]
                counts = np.array([len(line) for line in lines], "int64")
                columns.append((np.frombuffer(b"".join(lines), BYTE), counts))
        return EncodedPart(columns, np.array([long.sum(), empty.sum()]))

    def _ids(self, read, kept):
        """Return the ids of pairs that are kept, for each side."""
        pairs = itertools.compress(zip(*read, strict=True), kept)
        if not self.copying:
            ids = [[side.ids for side in pair] for pair in pairs]
        else:
            ids = [self._copied(*pair) for pair in pairs]
        return zip(*ids, strict=True) if ids else ((), ())

    def _copied(self, source, target):
        """Replace unknown words by ids for their positions in the source."""
        size = self.tokenizers[0].vocabulary_size
        texts = source.texts()
        words = ["", *texts]
        return (
            copied_ids(source.ids, texts, words, size),
            copied_ids(target.ids, target.texts(), words, size),
        )
