"""Sentences through a translation graph, in batches of similar length."""

import sys
from collections.abc import Callable

import keras
import numpy as np

from keras_attention.text import split_in_parts
from keras_attention.translation.graph import TranslationGraph
from keras_attention.translation.result import Translation
from keras_attention.translation.result import read_answer

COUNTED_AT_ONCE = 1024
BYTES_AT_ONCE = 2**20
BYTES_AN_ID = 32  # words are shorter


def count_ids(graph: TranslationGraph, sentences: list[bytes]) -> list[int]:
    """Count the ids of each sentence, start and end included.

    Args:
        graph: Counts, before it cuts a sentence.
        sentences: The sentences.
    """
    counts = []
    for part in split_in_parts(sentences, len, COUNTED_AT_ONCE, BYTES_AT_ONCE):
        texts = np.array(part, object)
        counts += np.asarray(graph.count(texts)).tolist()
    return counts


def run_in_batches(
    run: Callable,
    columns: list[list[bytes]],
    counts: list[int],
    batch_size: int,
    max_source_length: int,
    verbose: int | str,
) -> list[Translation]:
    """Run all sentences, sorted by length, and return them in their order.

    Args:
        run: A function of a `TranslationGraph`.
        columns: Its arguments: the sentences, and what goes with each.
        counts: The lengths to sort by, one for each sentence.
        batch_size: How many sentences go through at a time; fewer, where
            they are far longer than `max_source_length`.
        max_source_length: The ids that are read of a sentence, at most.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it on a
            terminal, if there is more than one batch.

    Returns:
        A `Translation` for each sentence, with its entries alone.
    """
    order = sorted(range(len(counts)), key=counts.__getitem__)
    if verbose == "auto":
        verbose = int(len(order) > batch_size and _has_terminal())
    bar = keras.utils.Progbar(len(order), verbose=verbose, unit_name="sentence")
    found = [None] * len(order)

    def size_of(i):
        return max(len(column[i]) for column in columns)

    room = max(BYTES_AT_ONCE, batch_size * max_source_length * BYTES_AN_ID)
    for rows in split_in_parts(order, size_of, batch_size, room):
        batch = [[column[i] for i in rows] for column in columns]
        answer = run(*(np.array(part, object) for part in batch))
        answer = {name: np.asarray(x) for name, x in answer.items()}
        for k, i in enumerate(rows):
            found[i] = read_answer({name: x[k] for name, x in answer.items()})
        bar.add(len(rows))
    return found


def _has_terminal():
    """Return whether standard output is seen, and not written to a file."""
    return sys.stdout is not None and sys.stdout.isatty()
