"""The variables of a source and its objects, and how their names are read."""

import re
from typing import NamedTuple

import numpy as np

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"  # of a variable in a checkpoint
SIDES = {
    "source": re.compile(
        r"encoder|(^|_)enc(_|$)|source|src|bidirectional|^(for|back)ward"
    ),
    "target": re.compile(
        r"decoder|(^|_)dec(_|$)|target|tgt|attention_wrapper|^_cell$"
    ),
}
DIRECTIONS = {x: re.compile(f"^{x}_") for x in ("forward", "backward")}


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
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""
        return self.value.shape

    @property
    def label(self) -> str:
        """The name for people, with the shape."""
        return f"{self.names[0]} {self.shape}"


class Group(NamedTuple):
    """The variables of one object of the source.

    Attributes:
        owner: The parts of the object's name.
        fields: Its variables, by their names within the object.
    """

    owner: tuple[str, ...]
    fields: dict[str, Stored]


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
    pieces = re.split(r"(\d+)", "/".join(parts))  # text, number, text, ...
    return [int(x) if i % 2 else x for i, x in enumerate(pieces)]


def in_order(groups: list[Group]) -> list[Group] | None:
    """Sort objects by the counters in their names.

    Args:
        groups: Objects of a source.

    Returns:
        The same objects; `None` if their names differ in more than counters,
        whose order says nothing.
    """
    names = {tuple(re.sub(r"_?\d+$", "", x) for x in g.owner) for g in groups}
    if len(names) > 1:
        return None
    return sorted(groups, key=lambda group: natural(group.owner))


def told(parts: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return the side of a model and the direction that a name tells.

    Args:
        parts: The parts of the name, of which the last one that tells counts.

    Returns:
        `"source"` or `"target"`, and `"forward"` or `"backward"`; `None` for
        what it does not tell.
    """
    return _last_told(parts, SIDES), _last_told(parts, DIRECTIONS)


def _last_told(parts, words):
    for part in reversed(parts):
        found = [k for k, x in words.items() if x.search(part.lower())]
        if len(found) == 1:  # not `encoder_decoder`
            return found[0]
    return None
