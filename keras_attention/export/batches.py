"""Sentences through a translation graph, in batches of similar length."""

from collections.abc import Callable

import keras
import numpy as np

from keras_attention.export.graph import TranslationGraph
from keras_attention.export.translation import Translation
from keras_attention.export.translation import read_answer

COUNTED_AT_ONCE = 1024


def count_ids(graph: TranslationGraph, sentences: list[bytes]) -> list[int]:
    """Count the ids of each sentence, start and end included.

    Args:
        graph: Counts, before it cuts a sentence.
        sentences: The sentences.
    """
    counts = []
    for start in range(0, len(sentences), COUNTED_AT_ONCE):
        part = sentences[start : start + COUNTED_AT_ONCE]
        counts += graph.count(np.array(part, object)).numpy().tolist()
    return counts


def run_in_batches(
    run: Callable,
    columns: list[list[bytes]],
    counts: list[int],
    batch_size: int,
    verbose: int | str,
) -> list[Translation]:
    """Run all sentences, sorted by length, and return them in their order.

    Args:
        run: A function of a `TranslationGraph`.
        columns: Its arguments: the sentences, and what goes with each.
        counts: The lengths to sort by, one for each sentence.
        batch_size: How many sentences go through at a time.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it if
            there is more than one batch.

    Returns:
        A `Translation` for each sentence, with its entries alone.
    """
    order = sorted(range(len(counts)), key=counts.__getitem__)
    if verbose == "auto":
        verbose = int(len(order) > batch_size)
    bar = keras.utils.Progbar(len(order), verbose=verbose, unit_name="sentence")
    found = [None] * len(order)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        batch = [[column[i] for i in rows] for column in columns]
        answer = run(*(np.array(part, object) for part in batch))
        answer = {name: x.numpy() for name, x in answer.items()}
        for k, i in enumerate(rows):
            found[i] = read_answer({name: x[k] for name, x in answer.items()})
        bar.add(len(rows))
    return found
