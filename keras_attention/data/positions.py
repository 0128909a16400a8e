"""Where shuffled datasets are in their sequence of epochs."""

import hashlib
import weakref
from collections.abc import Iterable

import numpy as np

_shuffled = []  # weak references to positions, in the order they were made


class Position:
    """The place of a shuffled dataset in its sequence of epochs.

    Each epoch has a generator of its own, made from the seed and the number of
    the epoch. So two numbers say where a dataset is, and a training that was
    interrupted can go back there.

    Args:
        seed: The seed of the sequence, or `None` for another one in every
            process.
        lengths: The lengths of all items, by which the data is known again:
            arrays, one after another.
        arguments: What else decides the order, such as the batch size.
    """

    def __init__(
        self,
        seed: int | None,
        lengths: Iterable[np.ndarray],
        *arguments: int,
    ):
        self.seed = np.random.SeedSequence(seed).entropy
        self.epoch = 0
        known = hashlib.sha256()
        for part in lengths:
            known.update(np.ascontiguousarray(part, "int64"))
        known.update(repr((seed, *arguments)).encode())
        self.content = known.hexdigest()

    def remember(self):
        """Include this position in `read_positions`, as long as it exists."""
        _shuffled.append(weakref.ref(self))

    def next_generator(self) -> np.random.Generator:
        """Begin an epoch, and return its random generator."""
        generator = np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        return generator


def read_positions() -> list[dict]:
    """Return all positions that are remembered, as plain values."""
    return [
        {"content": x.content, "seed": x.seed, "epoch": x.epoch}
        for x in _living()
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
    left = _living()[::-1]
    before = len(left)
    for entry in reversed(saved):
        found = [x for x in left if x.content == entry["content"]]
        for position in found[:1]:
            position.seed, position.epoch = entry["seed"], entry["epoch"]
            left.remove(position)
    if len(left) == before and any(entry["epoch"] for entry in saved):
        raise ValueError(
            "the dataset that it was trained on is not there, or was made "
            "with another seed, batch size or text"
        )


def _living():
    _shuffled[:] = [x for x in _shuffled if x() is not None]
    return [x() for x in _shuffled]
