"""The attention mechanisms of a source: their variables, put together."""

import re
from collections.abc import Callable
from typing import NamedTuple

from keras_attention.migration.stored import Group
from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import natural

# Names of a mechanism's own variables, and of the object that holds one.
FIELDS = {
    "attention_v": "vector",
    "attention_g": "gain",
    "scale_weight": "gain",  # its name as an attribute
    "attention_b": "bias",
    "attention_score_bias": "score_bias",
    "attention_scalar": "scalar",  # one of the two, of a file without names
}
LAYERS = {"query_layer": "query", "memory_layer": "memory"}
KERNELS = {"kernel", "query", "memory"}
CLASS = re.compile(r"(bahdanau|luong)_?(monotonic_?)?attention", re.I)


class Part(NamedTuple):
    """A variable of a mechanism.

    Attributes:
        owner: The parts of the mechanism's name, with its scopes.
        field: What the variable is: `"vector"`, `"query"` and so on;
            `"kernel"` where the name does not say of which layer.
        stored: The variable.
    """

    owner: tuple[str, ...]
    field: str
    stored: Stored

    @property
    def name(self) -> tuple[str, ...]:
        """The mechanism's own name, with its index in a list."""
        *_, holder, last = ("", *self.owner)
        listed = last.isdigit() or holder == "_attention_mechanisms"
        return (holder, last) if listed else (last,)

    @property
    def plain_name(self) -> tuple[str, ...]:
        """The same without counters."""
        return tuple(base(x) for x in self.name)

    @property
    def is_inside(self) -> bool:
        """Whether the name says that it stands in a wrapper."""
        return "attention_wrapper" in map(base, self.owner)


def find_mechanisms(
    variables: list[Stored], everything: list[Stored], count: int
) -> tuple[list[Group], list[Stored]]:
    """Put the variables of each mechanism together.

    The scope of a variable is no help: that of a query's kernel is the
    wrapper, that of a memory's kernel is whoever set the memory. The name of
    the mechanism itself is the same, but for a counter; if two have the same
    name, more of it counts.

    Args:
        variables: The variables to take.
        everything: All variables of the source.
        count: How many mechanisms the target has.

    Returns:
        One `Group` for each mechanism, and the variables that belong to none.
    """
    parts, rest = _split_off(variables)
    parts = _with_memories(parts, _split_off(everything)[0])
    keys = [
        lambda x: x.plain_name,
        lambda x: x.name,
        lambda x: x.owner,
        lambda x: id(x.stored),
    ]
    if count == 1:
        keys.insert(0, lambda _: None)
    grouped = (_group(parts, key) for key in keys)
    return next(x for x in grouped if x is not None), rest


def _split_off(variables) -> tuple[list[Part], list[Stored]]:
    """Split the variables of mechanisms off from all others."""
    named = {base(x.owner[-1]) for x in map(_part, variables) if x}
    named = {x for x in named if x and not x.isdigit()}
    parts = [_part(x, named) for x in variables]
    pairs = zip(variables, parts, strict=True)
    return [x for x in parts if x], [x for x, part in pairs if part is None]


def _part(x: Stored, named=()) -> Part | None:
    """Say what a variable is, if its name tells that of a mechanism."""
    *owner, last = x.parts
    holder = base(owner[-1]) if owner else ""
    if last in FIELDS:
        return Part(tuple(owner) or ("",), FIELDS[last], x)
    if last == "kernel" and holder in LAYERS:
        return Part(tuple(owner[:-1]) or ("",), LAYERS[holder], x)
    if last == "kernel" and (CLASS.fullmatch(holder) or holder in named):
        return Part(tuple(owner), "kernel", x)
    return None


def _with_memories(parts: list[Part], everything: list[Part]) -> list[Part]:
    """Add what belongs to mechanisms whose prefix has only a part of them.

    Whoever sets the memory makes its kernel, outside of the wrapper. Taken is
    what is outside of all wrappers and of the same name, and, if that has a
    counter for each wrapper, of the same rank; or whatever is outside, if
    nothing of a mechanism has the prefix.
    """
    known = {id(x.stored) for x in parts}
    outside = [
        x for x in everything if id(x.stored) not in known and not x.is_inside
    ]
    if not parts:
        return outside
    owners = {x.plain_name: x.owner for x in parts}
    missing = {}
    for x in outside:
        if x.plain_name in owners and _is_missing(x, parts):
            missing.setdefault((x.plain_name, x.field), []).append(x)
    wrapped = [x for x in everything if x.is_inside]
    for (name, _), found in missing.items():
        rivals = {x.owner for x in wrapped if x.plain_name == name}
        if owners[name] in rivals and len(found) == len(rivals):
            rank = sorted(rivals, key=natural).index(owners[name])
            found = [sorted(found, key=lambda x: natural(x.owner))[rank]]
        parts = parts + found
    return parts


def _is_missing(x: Part, parts: list[Part]) -> bool:
    fields = [one.field for one in parts if one.plain_name == x.plain_name]
    if x.field in KERNELS and sum(one in KERNELS for one in fields) > 1:
        return False
    return x.field == "kernel" or x.field not in fields


def _group(parts: list[Part], key: Callable) -> list[Group] | None:
    """Group variables by a key; `None` if two then are the same field."""
    alike = {}
    for x in parts:
        alike.setdefault(key(x), []).append(x)
    groups = []
    for same in alike.values():
        fields = _fields(same)
        if len(fields) < len(same):
            return None
        owner = max((x.owner for x in same), key=len)
        groups.append(Group(owner, fields))
    return groups


def _fields(parts: list[Part]) -> dict[str, Stored]:
    """Name the variables of a mechanism, of which a kernel may have no name.

    A layer that is built, but not called, has no scope of its own. The
    query's is built in the wrapper, deeper inside.
    """
    fields = {x.field: x.stored for x in parts if x.field != "kernel"}
    kernels = [x for x in parts if x.field == "kernel"]
    kernels.sort(key=lambda x: (x.is_inside, len(x.owner)))
    names = ["memory", "query"]
    if len(kernels) == 1 and "vector" in fields:
        if "memory" in fields or kernels[0].is_inside:
            names = ["query"]
    named = zip(names, (x.stored for x in kernels), strict=False)
    return fields | dict(named)
