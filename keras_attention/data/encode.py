"""Parallel text as ids, on all cores, and in memory for some lines only."""

import os
import sys
from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.text.base import FRAME
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.copies import aligned_words
from keras_attention.text.copies import check_shared
from keras_attention.text.copies import spell_source
from keras_attention.text.copies import spell_target
from keras_attention.text.sentences import split_in_parts

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
        """Tokenize pairs of lines by threads.

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
        for part in in_threads(self._encode, parts):
            yield part
            if count:  # a small text is done before there is anything to see
                bar.update(count)
                shown = count
            count += len(part.columns[0][1]) + int(part.dropped.sum())
        if shown:
            bar.update(count, finalize=True)

    def _encode(self, pairs):
        """Tokenize the pairs of a part.

        Rows keep one id beyond the limit, so that long ones can be found.
        """
        limit = self.max_length
        texts = [
            [line if line.strip() else "" for line in side]
            for side in zip(*pairs, strict=True)
        ]
        ids = [
            tokenizer.tokenize(side, max_length=limit and limit + 1)
            for tokenizer, side in zip(self.tokenizers, texts, strict=True)
        ]
        if self.copying:
            ids = self._spell(ids, texts)
        ids = [np.asarray(rows) for rows in ids]
        lengths = np.array([np.count_nonzero(rows, axis=1) for rows in ids])
        empty = lengths.min(axis=0) <= FRAME
        long = ~empty & (lengths.max(axis=0) > (limit or np.inf))
        kept = ~(empty | long)
        columns = [
            (rows[np.arange(rows.shape[1]) < (n * kept)[:, None]], n[kept])
            for rows, n in zip(ids, lengths, strict=True)
        ]
        if self.keep_texts:
            for side in texts:
                lines = [side[i].encode() for i in np.flatnonzero(kept)]
                counts = np.array([len(line) for line in lines], "int64")
                columns.append((np.frombuffer(b"".join(lines), BYTE), counts))
        return EncodedPart(columns, np.array([long.sum(), empty.sum()]))

    def _spell(self, ids, texts):
        """Give unknown words the ids of their places in the source."""
        words = [*map(aligned_words, self.tokenizers, texts, ids)]
        size = self.tokenizers[0].vocabulary_size
        return (
            spell_source(ids[0], words[0], size),
            spell_target(ids[1], words[1], ids[0], words[0], size),
        )


def in_threads(function: Callable, items: Iterable) -> Iterator:
    """Map items in their order, by all cores, and read few of them ahead.

    Args:
        function: What leaves the interpreter free, such as TensorFlow.
        items: Its arguments.

    Yields:
        Its results.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    waiting = deque()
    with ThreadPoolExecutor(cores) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
