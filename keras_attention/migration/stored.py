"""A variable of a source, and how its name is read."""

import re
from typing import NamedTuple

import numpy as np

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"  # of a variable in a checkpoint


class Stored(NamedTuple):
    """A variable that was read from a source.

    Attributes:
        names: Its names. The first one is for people; the last one says best
            what it belongs to.
        value: Its value.
    """

    names: tuple[str, ...]
    value: np.ndarray

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the name that says what it belongs to."""
        return split_name(self.names[-1])

    @property
    def label(self) -> str:
        """The name for people, with the shape."""
        return f"{self.names[0]} {self.value.shape}"


def split_name(name: str) -> tuple[str, ...]:
    """Split a variable's name into its parts.

    Args:
        name: Such as `"model/lstm/kernel:0"`.

    Returns:
        Its parts, without the output number.
    """
    name = re.sub(r":\d+$", "", name.removesuffix(SUFFIX))
    return tuple(part for part in name.split("/") if part) or ("",)


def base(part: str) -> str:
    """Return a part of a name without its counter: `"dense"` of `"dense_2"`.

    Args:
        part: One part, such as `"dense_2"`.
    """
    return re.sub(r"_\d+$", "", part)


def natural(parts: tuple[str, ...]) -> list:
    """Return what sorts names as people count: `"cell_2"`, then `"cell_10"`.

    Args:
        parts: The parts of a name.
    """
    return [
        [(int(x), "") if x.isdigit() else (-1, x) for x in _digits(part)]
        for part in parts
    ]


def _digits(part):
    return [x for x in re.split(r"(\d+)", part) if x]


def has_run(parts: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Return whether parts of a name follow each other in it.

    Args:
        parts: The parts of a name.
        run: Some parts, at least one.
    """
    size = len(run)
    return any(parts[i : i + size] == run for i in range(len(parts)))
