"""Sentences of any length, in batches of similar length."""

import sys
import warnings
from collections.abc import Callable
from collections.abc import Iterator

import keras
import numpy as np

from keras_attention.text import split_in_parts
from keras_attention.text.base import END
from keras_attention.text.base import PAD

READ_AT_ONCE = 1024
BYTES_AT_ONCE = 2**20
BYTES_AN_ID = 32  # words are shorter

Row = list[np.ndarray]


def read_rows(
    read: Callable, sentences: list[bytes], max_source_length: int
) -> tuple[list[Row], list[int]]:
    """Read sentences, each once, and cut those that are too long.

    Args:
        read: Function of a `TranslationGraph`.
        sentences: The sentences.
        max_source_length: The most ids of a row, start and end included.

    Returns:
        The columns of each row, and the number of ids of each before the cut.
    """
    rows, counts = [], []
    for part in split_in_parts(sentences, len, READ_AT_ONCE, BYTES_AT_ONCE):
        texts = np.array(part, object)
        columns = [np.asarray(x) for x in read(texts)]
        lengths = np.count_nonzero(columns[0] != PAD, axis=1)
        if lengths.ndim == 2:  # of several sources
            lengths = lengths.max(axis=1)
        for i, length in enumerate(lengths.tolist()):
            row = [
                x[i, : min(length, max_source_length)].copy() for x in columns
            ]
            if length > max_source_length:
                row[0][-1] = np.where(row[0][-1] == PAD, PAD, END)
                for words in row[1:]:
                    words[-1] = words[0]  # no word
            rows.append(row)
            counts.append(length)
    return rows, counts


def in_batches(
    rows: list[Row],
    prefixes: list[bytes] | None,
    batch_size: int,
    max_source_length: int,
    verbose: int | str,
) -> Iterator[tuple[list[int], list[np.ndarray]]]:
    """Yield batches of rows of similar length, the shortest first.

    Args:
        rows: What `read_rows` returned.
        prefixes: The beginning of each translation, or `None`.
        batch_size: How many sentences go through at a time; fewer, where
            prefixes are far longer than `max_source_length`.
        max_source_length: The most ids of a row.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it on a
            terminal, if there is more than one batch.

    Yields:
        The numbers of the rows, and their columns, as arrays.
    """
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    if verbose == "auto":
        verbose = int(len(order) > batch_size and has_terminal())
    bar = keras.utils.Progbar(len(order), verbose=verbose, unit_name="sentence")

    def size_of(i):
        return 0 if prefixes is None else len(prefixes[i])

    room = max(BYTES_AT_ONCE, batch_size * max_source_length * BYTES_AN_ID)
    for numbers in split_in_parts(order, size_of, batch_size, room):
        columns = zip(*(rows[i] for i in numbers), strict=True)
        batch = [
            keras.utils.pad_sequences(
                *(column, None, column[0].dtype),
                padding="post",
                # The word of the start; features and their mask have zeros.
                value=column[0][0] if column[0].dtype == object else PAD,
            )
            for column in columns
        ]
        if prefixes is not None:
            batch.append(np.array([prefixes[i] for i in numbers], object))
        yield numbers, batch
        bar.add(len(numbers))


def has_terminal() -> bool:
    """Return whether standard output is seen, and not written to a file."""
    return sys.stdout is not None and sys.stdout.isatty()


def warn_of_cuts(counts: list[int], longest: int):
    """Warn of sentences that have more ids than are read.

    Args:
        counts: The number of ids of each.
        longest: The most that are read.
    """
    cut = [i for i, n in enumerate(counts) if n > longest]
    if cut:
        warnings.warn(
            f"Translator cuts {len(cut)} of {len(counts)} sentences to "
            f"max_source_length={longest} ids. The first is "
            f"sentences[{cut[0]}], with {counts[cut[0]]}. Split it, or raise "
            "max_source_length.",
            stacklevel=4,
        )
