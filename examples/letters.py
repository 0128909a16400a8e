"""Sentences of letters for `reverse_and_sort.py`, and what becomes of them.

Every task has one right answer, and one place where each letter of it stands,
since no letter comes twice in a sentence.
"""

from typing import NamedTuple

import numpy as np

TASKS = ("copy", "reverse", "sort")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 8  # letters of a sentence
START = 2
FIRST = 4  # the id of "a"
VOCABULARY_SIZE = FIRST + len(LETTERS)


class Task(NamedTuple):
    """Sentences, and what becomes of them.

    Attributes:
        source: Ids `(N, LENGTH)`.
        target: Ids `(N, 1 + LENGTH)`: after a start, what is to be written.
        places: Where each letter of the target stands in the source,
            `(N, LENGTH)`.
    """

    source: np.ndarray
    target: np.ndarray
    places: np.ndarray


def make_sentences(count: int, seed: int) -> np.ndarray:
    """Draw sentences in which no letter comes twice, and no two are equal.

    Args:
        count: How many.
        seed: The same seed draws the same.

    Returns:
        Ids `(count, LENGTH)`.
    """
    random = np.random.default_rng(seed)
    letters = np.tile(FIRST + np.arange(len(LETTERS)), (2 * count, 1))
    rows = np.unique(random.permuted(letters, axis=1)[:, :LENGTH], axis=0)
    return random.permutation(rows)[:count]


def make_task(name: str, source: np.ndarray) -> Task:
    """Do one of `TASKS` by hand, with sentences `(N, LENGTH)`."""
    places = np.broadcast_to(np.arange(LENGTH), source.shape)
    if name == "reverse":
        places = places[:, ::-1]
    if name == "sort":
        places = np.argsort(source, axis=1)
    written = np.take_along_axis(source, places, axis=1)
    start = np.full((len(source), 1), START)
    return Task(source, np.concatenate([start, written], axis=1), places)
