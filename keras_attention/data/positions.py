"""Where shuffled datasets are in their sequence of epochs."""

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
    """The place of a shuffled dataset in its sequence of epochs.

    Each epoch has a generator of its own, made from the seed and the number of
    the epoch. So two numbers say where a dataset is, and a training that was
    interrupted can go back there.

    Args:
        seed: The seed of the sequence, or `None` for another one in every
            process.
        arrays: Function that returns the arrays by which the data is known
            again.
        arguments: What else decides the batches, such as their size.
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
        """What data and arguments are known by; all data is read for it."""
        known = hashlib.sha256(repr(self.arguments).encode())
        for array in self.arrays():
            for i in range(0, len(array), AT_ONCE):  # it may be a large file
                known.update(np.ascontiguousarray(array[i : i + AT_ONCE], "i8"))
        return known.hexdigest()

    def remember(self):
        """Include this position in `read_positions`, as long as it exists."""
        _shuffled[next(_numbers)] = self

    def next_epoch(self) -> tuple[int, np.random.Generator]:
        """Begin an epoch, and return its number and its random generator."""
        epoch = self.epoch
        self.epoch += 1
        return epoch, np.random.default_rng([self.seed, epoch])


def read_positions() -> list[dict]:
    """Return all positions that are remembered, as plain values."""
    return [
        {"content": x.content, "seed": x.seed, "epoch": x.epoch}
        for x in list(_shuffled.values())
    ]


def set_positions(saved: list[dict]):
    """Set all shuffled datasets to positions that were read before.

    A dataset is known by its content, its arguments and its seed. Of equal
    ones, the last that was made is the last that was saved.

    Args:
        saved: What `read_positions` returned, perhaps in another process.

    Raises:
        ValueError: If datasets were in use, and none of them is there.
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
            "the dataset that it was trained on is not there, or was made "
            "with another seed, batch size or text"
        )
