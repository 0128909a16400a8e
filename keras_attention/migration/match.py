"""What each weight of a target takes, and what does not fit."""

import itertools

import numpy as np

from keras_attention.migration.mechanisms import find_mechanisms
from keras_attention.migration.slots import Unit
from keras_attention.migration.slots import Wanted
from keras_attention.migration.stored import Group
from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import in_order
from keras_attention.migration.stored import natural
from keras_attention.migration.stored import told

MISSING, LEFT_OVER, MISSHAPEN = "Missing", "Left over", "Of another shape"


def match(
    wanted: Wanted, variables: list[Stored], everything: list[Stored]
) -> tuple[list, dict[str, list[str]]]:
    """Find the value of every weight.

    Args:
        wanted: What the target needs.
        variables: The variables to take.
        everything: All variables of the source, for memories that are set
            elsewhere.

    Returns:
        Pairs of a slot and its value; and what does not fit, by its kind.
    """
    count = len(wanted.attentions)
    mechanisms, rest = find_mechanisms(variables, everything, count)
    layers, others = [], []
    for group in _group_by_owner(rest):
        (layers if _is_attentional(group) else others).append(group)
    layers = _join_layers(layers, count, wanted.attentional)
    pairs = [
        *_pair_mechanisms(wanted.attentions, mechanisms),
        *itertools.zip_longest(wanted.attentional, layers),
        *_pair(wanted.units, others),
    ]
    values, differences = [], {MISSING: [], LEFT_OVER: [], MISSHAPEN: []}
    for unit, group in pairs:
        slots = _by_name(unit.slots if unit else {})
        fields = _by_name(group.fields if group else {})
        for name, slot in slots.items():
            need = f"{slot.weight.path} {slot.shape}"
            if name not in fields:
                differences[MISSING].append(need)
            elif fields[name].shape != slot.shape:
                label = f"{fields[name].label}, where {slot.weight.path} takes "
                differences[MISSHAPEN].append(label + str(slot.shape))
            else:
                values.append((slot, fields[name].value))
        differences[LEFT_OVER] += [
            x.label for name, x in fields.items() if name not in slots
        ]
    return values, differences


def _group_by_owner(variables: list[Stored]) -> list[Group]:
    """Put the variables of one object together, norms with their cell.

    A field that comes twice belongs to another object of the same name.
    """
    groups = []
    for x in variables:
        *owner, field = x.parts
        if owner and owner[-1].endswith("_norm"):
            field = f"{owner.pop()}/{field}"
        for group in groups:
            if group.owner == tuple(owner) and field not in group.fields:
                group.fields[field] = x
                break
        else:
            groups.append(Group(tuple(owner), {field: x}))
    return groups


def _by_name(named: dict) -> dict:
    """Leave out the name of a matrix that is alone: embeddings or kernel."""
    (*_, last) = (None, *named.values())
    return {"": last} if len(named) == 1 and len(last.shape) == 2 else named


def _shapes(named: dict) -> dict:
    return {name: tuple(x.shape) for name, x in _by_name(named).items()}


def _pair(units: list[Unit], groups: list[Group]) -> list[tuple]:
    """Find the object of the source for every object of ours.

    It has the same names and shapes, and its own name tells no other side and
    no other direction. What finds none takes one of the same names, so that an
    error can say what has another shape.
    """
    pairs = []
    for key in (_shapes, lambda named: set(_by_name(named))):
        waiting, units = units, []
        for unit in waiting:
            names = key(unit.slots)
            alike = [x for x in groups if key(x.fields) == names]
            first = _first(unit, alike)
            if first is None:
                units.append(unit)
            else:
                groups = [x for x in groups if x is not first]
                pairs.append((unit, first))
    return pairs + [(x, None) for x in units] + [(None, x) for x in groups]


def _first(unit: Unit, groups: list[Group]) -> Group | None:
    """Return the first object that may be this one, or `None`.

    Of several, those are meant whose names tell the same as that of ours; of
    these the first one, if counters give them an order, and else none.
    """
    names = {id(x): told((*x.owner, *x.fields)) for x in groups}

    def agrees(group):
        pairs = zip(names[id(group)], unit.told, strict=True)
        return all(None in (x, y) or x == y for x, y in pairs)

    groups = [x for x in groups if agrees(x)]
    same = [x for x in groups if names[id(x)] == unit.told]
    return next(iter(in_order(same or groups) or ()), None)


def _pair_mechanisms(attentions: list[Unit], groups: list[Group]) -> list:
    """Find the mechanism of each attention: by its index, if it has one."""
    scaled = any("gain" in unit.slots for unit in attentions)
    for fields in (
        group.fields for group in groups if "scalar" in group.fields
    ):
        fields["gain" if scaled else "score_bias"] = fields.pop("scalar")
    if len(groups) == 1 or all(x.owner[-1].isdigit() for x in groups):
        groups = sorted(groups, key=lambda x: natural(x.owner))
        return [*itertools.zip_longest(attentions, groups)]
    return _pair(attentions, groups)


def _is_attentional(group: Group) -> bool:
    """Return whether an object is the attentional layer of a wrapper."""
    *_, scope, name = ("", "", *map(base, group.owner))
    return (
        "_attention_layers" in group.owner
        or name == "attention_layer"
        or (scope == "attention_wrapper" and _is_dense(group))
    )


def _is_dense(group: Group) -> bool:
    return {"kernel"} <= set(group.fields) <= {"kernel", "bias"}


def _join_layers(
    layers: list[Group], count: int, wanted: list[Unit]
) -> list[Group]:
    """Join the attentional layers of several mechanisms to one, if possible.

    Formula:

        [[s; c1] A, [s; c2] B] = [s; c1; c2] [[As, Bs], [Ac, 0], [0, Bc]]

    with the rows `As` of `A` for the state and `Ac` for the context.
    """
    layers = in_order(layers) or layers
    kernels = [x.fields["kernel"].value for x in layers if _is_dense(x)]
    alike = len({x.shape[:-1] for x in kernels}) == 1 == kernels[0].ndim - 1
    if not wanted or not alike or not len(kernels) == len(layers) == count > 1:
        return layers
    rows = wanted[0].slots["kernel"].shape[0]
    size, odd = divmod(rows - kernels[0].shape[0], count - 1)
    state = kernels[0].shape[0] - size
    if odd or state < 1:
        return layers
    columns = []
    for i, kernel in enumerate(kernels):
        column = np.zeros((rows, kernel.shape[1]), kernel.dtype)
        column[:state] = kernel[:state]
        column[state + i * size :][:size] = kernel[state:]
        columns.append(column)
    values = {"kernel": np.hstack(columns)}
    biases = [x.fields["bias"].value for x in layers if "bias" in x.fields]
    if biases:
        values["bias"] = np.hstack(biases)
    name = " + ".join("/".join(x.owner) for x in layers)
    fields = {k: Stored((f"{name}/{k}",), x) for k, x in values.items()}
    return [Group(layers[0].owner, fields)]
