"""Sentences of letters, and three tasks on them, for `reverse_and_sort.py`.

No letter occurs twice in a sentence. Therefore, every task has one right
answer, and each letter of the answer has one position in the source.
"""

from typing import NamedTuple

import numpy as np

TASKS = ("copy", "reverse", "sort")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 8  # letters in a sentence
START = 2
FIRST = 4  # the id of "a"
VOCABULARY_SIZE = FIRST + len(LETTERS)


class Task(NamedTuple):
    """Sentences, and the right answers to one task.

    Attributes:
        source: Ids `(N, LENGTH)`.
        target: Ids `(N, 1 + LENGTH)`: the start id, then the answer.
        places: Position in the source of each letter of the answer,
            `(N, LENGTH)`.
    """

    source: np.ndarray
    target: np.ndarray
    places: np.ndarray


def make_sentences(count: int, seed: int) -> np.ndarray:
    """Draw different sentences in which no letter occurs twice.

    Args:
        count: Number of sentences.
        seed: Seed of the sentences.

    Returns:
        Ids `(count, LENGTH)`.
    """
    random = np.random.default_rng(seed)
    letters = np.tile(FIRST + np.arange(len(LETTERS)), (2 * count, 1))
    rows = np.unique(random.permuted(letters, axis=1)[:, :LENGTH], axis=0)
    return random.permutation(rows)[:count]


def make_task(name: str, source: np.ndarray) -> Task:
    """Compute the answers to one of `TASKS` for sentences `(N, LENGTH)`."""
    places = np.broadcast_to(np.arange(LENGTH), source.shape)
    if name == "reverse":
        places = places[:, ::-1]
    if name == "sort":
        places = np.argsort(source, axis=1)
    written = np.take_along_axis(source, places, axis=1)
    start = np.full((len(source), 1), START)
    return Task(source, np.concatenate([start, written], axis=1), places)
