"""Parallel text as ids, on all cores, and in memory for some lines only."""

import os
import sys
from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.text.base import FRAME
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.copies import aligned_words
from keras_attention.text.copies import spell_source
from keras_attention.text.copies import spell_target

SENTENCES_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 2**20
Tokenizers = tuple[AbstractTokenizer, AbstractTokenizer]


class EncodedPart(NamedTuple):
    """Some pairs that follow each other in the text.

    Attributes:
        texts: The lines of both sides, two lists of `N` strings.
        ids: The ids of both sides, two arrays `(S,)`: one row after another.
        lengths: The lengths of their rows, two arrays `(N,)`.
        too_long: How many other pairs are too long.
        empty: How many other pairs have a blank side.
    """

    texts: list[list[str]]
    ids: list[np.ndarray]
    lengths: list[np.ndarray]
    too_long: int
    empty: int


def encode_pairs(
    pairs: Iterable[tuple[str, str]],
    tokenizers: Tokenizers,
    max_length: int | None,
    copying: bool,
) -> Iterator[EncodedPart]:
    """Tokenize pairs of lines by threads, and leave out what cannot train.

    On a terminal, a bar counts the pairs.

    Args:
        pairs: Lines of source and target.
        tokenizers: Those of both sides.
        max_length: The maximum length of a side, with start and end, or
            `None`.
        copying: Whether unknown words get the ids of their places in the
            source.

    Yields:
        The pairs in their order, without those that are too long or empty.
    """
    encode = partial(
        _encode,
        tokenizers=tokenizers,
        limit=max_length,
        copying=copying,
    )
    seen = sys.stdout is not None and sys.stdout.isatty()
    bar = keras.utils.Progbar(None, verbose=int(seen), unit_name="pair")
    count = shown = 0
    for part in _in_threads(encode, _split(pairs)):
        yield part
        if count:  # a small text is done before there is anything to see
            bar.update(count)
            shown = count
        count += len(part.lengths[0]) + part.too_long + part.empty
    if shown:
        bar.update(count, finalize=True)


def _split(pairs):
    """Split pairs into parts of bounded memory, padded or not."""
    part, longest = [], 0
    for pair in pairs:
        size = max(map(len, pair))
        widest = max(longest, size)
        full = len(part) == SENTENCES_AT_ONCE
        if full or (part and (len(part) + 1) * widest > CHARACTERS_AT_ONCE):
            yield part
            part, widest = [], size
        part.append(pair)
        longest = widest
    if part:
        yield part


def _in_threads(function: Callable, items: Iterable) -> Iterator:
    """Map items in their order, by all cores, and read few of them ahead."""
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


def _encode(pairs, tokenizers, limit, copying):
    """Tokenize the pairs of a part.

    Rows keep one id beyond the limit, so that long ones can be found.
    """
    cut = None if limit is None else limit + 1
    texts = [
        [line if line.strip() else "" for line in side]
        for side in zip(*pairs, strict=True)
    ]
    found = [
        tokenizer.tokenize(side, max_length=cut)
        for tokenizer, side in zip(tokenizers, texts, strict=True)
    ]
    if copying:
        found = _spelled(found, texts, tokenizers)
    ids = [np.asarray(rows) for rows in found]
    lengths = np.array([np.count_nonzero(rows, axis=1) for rows in ids])
    empty = lengths.min(axis=0) <= FRAME
    long = ~empty & (lengths.max(axis=0) > (limit or np.inf))
    kept = ~(empty | long)
    return EncodedPart(
        [[x for x, k in zip(side, kept, strict=True) if k] for side in texts],
        [_flat(*side) for side in zip(ids, lengths * kept, strict=True)],
        [side[kept] for side in lengths],
        int(long.sum()),
        int(empty.sum()),
    )


def _flat(ids, lengths):
    """Join the beginnings of rows `(N, T)` to `(S,)`."""
    return ids[np.arange(ids.shape[1]) < lengths[:, None]]


def _spelled(ids, texts, tokenizers):
    """Give unknown words the ids of their places in the source."""
    words = [*map(aligned_words, tokenizers, texts, ids)]
    size = tokenizers[0].vocabulary_size
    return (
        spell_source(ids[0], words[0], size),
        spell_target(ids[1], words[1], ids[0], words[0], size),
    )
