"""Parallel text as ids, in memory for some lines only."""

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
    """Some pairs that follow each other in the text.

    Attributes:
        columns: For each of `PairEncoder.dtypes` its rows: values `(S,)`, one
            row after another, and the length of each, `(N,)`.
        dropped: How many other pairs are too long, and how many have a blank
            side.
    """

    columns: list[tuple[np.ndarray, np.ndarray]]
    dropped: np.ndarray


class PairEncoder:
    """Turns pairs of lines into ids, and leaves out what cannot train.

    Args:
        tokenizers: Those of source and target.
        max_length: The maximum length of a side, with start and end, or
            `None`.
        copying: Whether unknown words get the ids of their places in the
            source.
        keep_texts: Whether to keep the lines as well.

    Raises:
        ValueError: If the tokenizers differ in `copying`.
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
        """Return the smallest type that holds the values of each column."""
        size = max(tokenizer.vocabulary_size for tokenizer in self.tokenizers)
        small = size <= np.iinfo(SMALL).max and not self.copying
        found = {f"{side}.ids": SMALL if small else LARGE for side in SIDES}
        if self.keep_texts:
            found |= {f"{side}.text": BYTE for side in SIDES}  # of UTF-8
        return found

    def settings(self) -> list:
        """List what decides the columns of a text, as JSON can hold it."""
        tokenizers = [tokenizer.to_json() for tokenizer in self.tokenizers]
        return [tokenizers, self.max_length, self.copying, self.keep_texts]

    def encode(self, pairs: Iterable[tuple[str, str]]) -> Iterator[EncodedPart]:
        """Tokenize pairs of lines.

        On a terminal, a bar counts the pairs.

        Args:
            pairs: Lines of source and target.

        Yields:
            The pairs in their order, without those that are too long or empty.
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
        """Tokenize the pairs of a part."""
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
        """List the ids of the pairs that are kept, for each side."""
        pairs = itertools.compress(zip(*read, strict=True), kept)
        if not self.copying:
            ids = [[side.ids for side in pair] for pair in pairs]
        else:
            ids = [self._copied(*pair) for pair in pairs]
        return zip(*ids, strict=True) if ids else ((), ())

    def _copied(self, source, target):
        """Give unknown words the ids of their places in the source."""
        size = self.tokenizers[0].vocabulary_size
        texts = source.texts()
        words = ["", *texts]
        return (
            copied_ids(source.ids, texts, words, size),
            copied_ids(target.ids, target.texts(), words, size),
        )
