"""Track the positions of shuffled datasets in their sequences of epochs."""

import functools
import hashlib
import itertools
import weakref
from collections.abc import Callable
from collections.abc import Iterable

import numpy as np

# All shuffled datasets, in the order in which they were made. A training
# cannot ask its data for them: what `map`, `take` and `prefetch` of `tf.data`
# return does not show what it reads from.
_shuffled = weakref.WeakValueDictionary()
_numbers = itertools.count()
AT_ONCE = 2**20  # numbers of an array


class Position:
    """The position of a shuffled dataset in its sequence of epochs.

    Each epoch has its own random generator, from the seed and the epoch
    number. Therefore, two numbers identify a position, and an interrupted
    training can be resumed there.

    Args:
        seed: The seed of the sequence, or `None` for a new seed in every
            process.
        arrays: Function that returns the arrays that identify the data.
        *arguments: Other values that determine the batches, such as their
            size.
    """

    def __init__(
        self,
        seed: int | None,
        arrays: Callable[[], Iterable[np.ndarray]],
        *arguments: float,
    ):
        self.seed = np.random.SeedSequence(seed).entropy
        self.epoch = 0
        self.arrays = arrays
        self.arguments = (seed, *arguments)

    @functools.cached_property
    def content(self) -> str:
        """A digest of data and arguments, for which all data is read."""
        known = hashlib.sha256(repr(self.arguments).encode())
        for array in self.arrays():
            for i in range(0, len(array), AT_ONCE):  # it may be a large file
                known.update(np.ascontiguousarray(array[i : i + AT_ONCE], "i8"))
        return known.hexdigest()

    def remember(self):
        """Include this position in `read_positions` as long as it exists."""
        _shuffled[next(_numbers)] = self

    def next_epoch(self) -> tuple[int, np.random.Generator]:
        """Begin an epoch, and return its index and its random generator."""
        epoch = self.epoch
        self.epoch += 1
        return epoch, np.random.default_rng([self.seed, epoch])


def read_positions() -> list[dict]:
    """Return all registered positions as plain values."""
    return [
        {"content": x.content, "seed": x.seed, "epoch": x.epoch}
        for x in list(_shuffled.values())
    ]


def set_positions(saved: list[dict]):
    """Set all shuffled datasets to saved positions.

    A dataset is identified by its content, its arguments and its seed. Among
    equal datasets, the newest gets the position of the newest that was saved.

    Args:
        saved: The result of `read_positions`, possibly from another process.

    Raises:
        ValueError: If datasets were saved, and none of them exists.
    """
    left = list(_shuffled.values())[::-1]
    before = len(left)
    for entry in reversed(saved):
        same = [x for x in left if x.content == entry["content"]]
        for position in same[:1]:
            position.seed, position.epoch = entry["seed"], entry["epoch"]
            left.remove(position)
    if len(left) == before and any(entry["epoch"] for entry in saved):
        raise ValueError(
            "the `parallel_dataset` of this training has not been created in "
            "this process, or with another seed, batch size or text"
        )
