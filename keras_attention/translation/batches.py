"""Group sentences of similar length into batches."""

import sys
import warnings
from collections.abc import Iterator

import keras
import numpy as np

from keras_attention.files import split_in_parts
from keras_attention.translation.program import Row

BYTES_AT_ONCE = 2**20
BYTES_AN_ID = 32  # words are shorter


def in_batches(
    rows: list[Row],
    prefixes: list[str] | None,
    batch_size: int,
    max_source_length: int,
    verbose: int | str,
) -> Iterator[tuple[list[int], list[np.ndarray]]]:
    """Yield batches of rows of similar length, shortest first.

    Args:
        rows: The rows of all sentences.
        prefixes: The beginning of each translation, or `None`.
        batch_size: Number of sentences per batch. Batches are smaller if
            prefixes are much longer than `max_source_length`.
        max_source_length: Maximum number of ids in a row.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it on a
            terminal if there is more than one batch.

    Yields:
        The indices of the rows and their columns, as arrays.
    """
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].columns[0]))
    if verbose == "auto":
        verbose = int(len(order) > batch_size and has_terminal())
    bar = keras.utils.Progbar(len(order), verbose=verbose, unit_name="sentence")

    def size_of(i):
        return 0 if prefixes is None else len(prefixes[i])

    room = max(BYTES_AT_ONCE, batch_size * max_source_length * BYTES_AN_ID)
    for numbers in split_in_parts(order, size_of, batch_size, room):
        columns = zip(*(rows[i].columns for i in numbers), strict=True)
        yield (
            numbers,
            [
                keras.utils.pad_sequences(
                    column, dtype=column[0].dtype, padding="post"
                )
                for column in columns
            ],
        )
        bar.add(len(numbers))


def has_terminal() -> bool:
    """Return whether standard output is interactive, not a file."""
    return sys.stdout is not None and sys.stdout.isatty()


def warn_of_cuts(counts: list[int], longest: int):
    """Warn about truncated sentences.

    Args:
        counts: The number of ids of each sentence.
        longest: The maximum number of ids.
    """
    cut = [i for i, n in enumerate(counts) if n > longest]
    if cut:
        warnings.warn(
            f"Translator truncates {len(cut)} of {len(counts)} sentences to "
            f"max_source_length={longest} tokens. The first is "
            f"sentences[{cut[0]}] with {counts[cut[0]]} tokens. Split long "
            "sentences, or raise `max_source_length`.",
            stacklevel=4,
        )
