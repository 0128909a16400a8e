"""What the variables of a source belong to, by their names."""

import re
from typing import NamedTuple

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
CLASS = re.compile(r"(bahdanau|luong)_?(monotonic_?)?attention", re.I)
# Cells of TensorFlow 1, with one kernel for inputs and state together.
JOINED = re.compile(r"(\w+_)?(lstm|gru|rnn)_cell|gates|candidate", re.I)
MECHANISMS, ATTENTIONAL = "_attention_mechanisms", "_attention_layers"
SIDES = {
    "source": re.compile(
        r"encoder|(^|_)enc(_|$)|source|src|bidirectional|^(for|back)ward"
    ),
    "target": re.compile(
        r"decoder|(^|_)dec(_|$)|target|tgt|attention_wrapper|^_cell$"
    ),
}


class Group(NamedTuple):
    """The variables of one object of the source.

    Attributes:
        owner: The parts of the object's name.
        fields: Its variables, by their names within the object.
    """

    owner: tuple[str, ...]
    fields: dict[str, Stored]

    @property
    def shapes(self) -> dict:
        """The shape of each variable."""
        return {name: x.value.shape for name, x in self.fields.items()}


class Inventory(NamedTuple):
    """All variables of a source, by what they belong to.

    Attributes:
        mechanisms: Variables of attention mechanisms, each with its owner and
            field; `"kernel"` where the name does not say of which layer.
        attentional: Attentional layers, in their order.
        units: All other objects, in their order: cells, embeddings and so on.
    """

    mechanisms: list[tuple[tuple[str, ...], str, Stored]]
    attentional: list[Group]
    units: list[Group]


def sort_variables(variables: list[Stored]) -> Inventory:
    """Sort the variables of a source by what they belong to.

    Args:
        variables: The variables.

    Returns:
        An `Inventory`.
    """
    owners = [place[0][-1] for x in variables if (place := _place(x))]
    named = {base(x) for x in owners if x and not x.isdigit()}
    mechanisms, rest = [], []
    for x in variables:
        place = _place(x)
        parts = x.parts
        if place is None and parts[-1] == "kernel" and len(parts) > 1:
            if base(parts[-2]) in named:
                place = parts[:-1], "kernel"
        if place is None:
            rest.append(x)
        else:
            mechanisms.append((*place, x))
    groups = _group(rest)
    scopes = _wrappers(mechanisms, groups)
    attentional, units = [], []
    for one in groups:
        (attentional if _is_attentional(one, scopes) else units).append(one)
    return Inventory(mechanisms, attentional, units)


def _place(x: Stored):
    """Return a mechanism's name and the field, if the variable's name says."""
    parts = x.parts
    last, holder = parts[-1], base(parts[-2]) if len(parts) > 1 else ""
    if last in FIELDS:
        return parts[:-1] or ("",), FIELDS[last]
    if last == "kernel" and holder in LAYERS:
        return parts[:-2] or ("",), LAYERS[holder]
    if last == "kernel" and CLASS.fullmatch(holder):
        return parts[:-1], "kernel"
    return None


def _group(variables) -> list[Group]:
    """Put the variables of one object together, norms with their cell."""
    found = {}
    for x in variables:
        *owner, field = x.parts
        if owner and owner[-1].endswith("_norm"):
            field = f"{owner.pop()}/{field}"
        found.setdefault(tuple(owner), []).append((field, x))
    groups = []
    for owner, named in found.items():
        pending = named
        while pending:  # a field that comes twice is of another object
            fields, later = {}, []
            for field, x in pending:
                if field in fields:
                    later.append((field, x))
                else:
                    fields[field] = x
            groups.append(Group(owner, fields))
            pending = later
    return in_order(groups)


def in_order(groups: list[Group]) -> list[Group]:
    """Sort objects that differ in counters alone; others keep their places.

    Args:
        groups: Objects of a source, in its order.

    Returns:
        The same objects: where some have the same name but for counters,
        the smaller ones come first.
    """
    alike = {}
    for one in groups:
        alike.setdefault(_without_counters(one), []).append(one)
    for same in alike.values():
        same.sort(key=lambda one: natural(one.owner), reverse=True)
    return [alike[_without_counters(one)].pop() for one in groups]


def _without_counters(group: Group):
    return tuple(re.sub(r"_?\d+$", "", part) for part in group.owner)


def the_first(groups: list[Group]) -> Group | None:
    """Return the first object, if all are alike but for counters.

    Args:
        groups: Objects that fit equally well, in their order.

    Returns:
        One of them; `None` if there is none, or if their names differ in more
        than counters, whose order says nothing.
    """
    names = {_without_counters(one) for one in groups}
    return groups[0] if len(names) == 1 else None


def _wrappers(mechanisms, groups) -> set:
    """Return the scopes that must be an `AttentionWrapper`, by their names."""
    scopes = set()
    owners = [owner for owner, _, _ in mechanisms]
    for owner in owners + [one.owner for one in groups]:
        for i, part in enumerate(owner):
            if base(part) == "attention_wrapper":
                scopes.add(owner[: i + 1])
            if part == "_cell" or base(part) == "attention_layer":
                scopes.add(owner[:i])
    return scopes


def _is_attentional(group: Group, scopes) -> bool:
    """Return whether an object is the attentional layer of a wrapper."""
    owner = group.owner
    if not owner or ATTENTIONAL in owner:
        return bool(owner)
    name = base(owner[-1])
    if name == "attention_layer":
        return True
    dense = {"kernel"} <= set(group.fields) <= {"kernel", "bias"}
    cell = owner[-1] == "_cell" or JOINED.fullmatch(name)
    return dense and owner[:-1] in scopes and not cell


def side(parts: tuple[str, ...]) -> str | None:
    """Return the side of a model that a name tells: the last one it names.

    Args:
        parts: The parts of a name.

    Returns:
        `"source"`, `"target"`, or `None` if it tells neither.
    """
    for part in reversed(parts):
        told = [k for k, x in SIDES.items() if x.search(part.lower())]
        if len(told) == 1:  # not `encoder_decoder`
            return told[0]
    return None
