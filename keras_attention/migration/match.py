"""What each weight of a target takes, and what does not fit."""

from typing import Any
from typing import NamedTuple

import numpy as np

from keras_attention.migration.attentional import join_layers
from keras_attention.migration.groups import Group
from keras_attention.migration.groups import Inventory
from keras_attention.migration.groups import side
from keras_attention.migration.groups import the_first
from keras_attention.migration.layouts import explain_layout
from keras_attention.migration.mechanisms import in_order_of
from keras_attention.migration.mechanisms import mechanism_groups
from keras_attention.migration.slots import Slot
from keras_attention.migration.slots import Unit
from keras_attention.migration.slots import Wanted
from keras_attention.migration.slots import direction


class Match(NamedTuple):
    """The values of a target, and what is wrong with them.

    Attributes:
        values: Weights of the target, each with its new value.
        missing: What the target needs and the source does not have.
        left_over: What the source has and the target does not need.
        misshapen: What has another shape.
        layouts: What is known of the layouts that do not fit.
    """

    values: list[tuple[Any, np.ndarray]]
    missing: list[str]
    left_over: list[str]
    misshapen: list[str]
    layouts: list[str]


def match(wanted: Wanted, found: Inventory) -> Match:
    """Find the value of every weight.

    Args:
        wanted: What the target needs.
        found: What the source has.

    Returns:
        A `Match`.
    """
    result = Match([], [], [], [], [])
    count = len(wanted.attentions)
    groups = mechanism_groups(found.mechanisms, count)
    chosen = in_order_of(wanted.attentions, groups)
    for slots, group in zip(wanted.attentions, chosen, strict=True):
        _take(result, slots, group)
    taken = {id(x) for one in chosen if one for x in one.fields.values()}
    left = [x for _, _, x in found.mechanisms if id(x) not in taken]
    layers = found.attentional
    if wanted.attentional:
        layer, layers = join_layers(layers, count, wanted.attentional)
        _take(result, wanted.attentional, layer)
    left += [x for one in layers for x in one.fields.values()]
    for unit, group in pair_units(wanted.units, found.units):
        slots = unit.slots if unit else {}
        _take(result, slots, group)
        _explain(result, slots, group)
    result.left_over.extend(x.label for x in left)
    return result


def _take(result: Match, slots: dict[str, Slot], group: Group | None):
    """Give every slot the variable of its name."""
    fields = dict(group.fields) if group else {}
    for name, slot in slots.items():
        stored = fields.pop(name, None)
        path = slot.weight.path
        if stored is None:
            result.missing.append(f"{path} {slot.shape}")
        elif stored.value.shape != slot.shape:
            label = f"{stored.label}, where {path} takes {slot.shape}"
            result.misshapen.append(label)
        else:
            convert = slot.convert or (lambda x: x)
            result.values.append((slot.weight, convert(stored.value)))
    result.left_over.extend(x.label for x in fields.values())


def _explain(result: Match, slots: dict[str, Slot], group: Group | None):
    """Say what is known of the layout of variables that do not fit."""
    wanted = {name: slot.shape for name, slot in slots.items()}
    if group is None or group.shapes == wanted:
        return
    said = explain_layout(group, wanted)
    if said and said not in result.layouts:
        result.layouts.append(said)


def pair_units(units: list[Unit], groups: list[Group]) -> list[tuple]:
    """Find the object of the source for every object of ours.

    It has the same names and shapes, and its own name tells no other side and
    no other direction. Of several, those that tell the same side are meant; of
    these the first one, if counters give them an order, and else none. What
    finds none takes what is most like it, so that an error can say what
    differs.

    Args:
        units: Objects of ours, in their order.
        groups: Objects of the source, in their order.

    Returns:
        Pairs of the two, `None` in place of one that is not there.
    """
    pairs, left, alone = [], list(groups), []
    for unit in units:
        fits = [x for x in left if _canonical(x.shapes) == _shapes(unit)]
        best = _first(unit, fits)
        if best is None:
            alone.append(unit)
            continue
        left = [x for x in left if x is not best]
        pairs.append((unit, _with_names_of(unit, best)))
    for unit in alone:
        most = max((_likeness(unit, x) for x in left), default=(0, 0))
        alike = [x for x in left if _likeness(unit, x) == most > (0, 0)]
        best = _first(unit, alike)
        left = [x for x in left if x is not best]
        pairs.append((unit, best))
    return pairs + [(None, x) for x in left]


def _first(unit: Unit, groups: list[Group]) -> Group | None:
    """Return the first object that may be this one, or `None`."""
    sides = {id(x): side((*x.owner, *x.fields)) for x in groups}
    groups = [x for x in groups if _agree(sides[id(x)], unit.side)]
    groups = [x for x in groups if _agree(direction(x.owner), unit.direction)]
    told = [x for x in groups if sides[id(x)] == unit.side]
    return the_first(told or groups)


def _agree(one, other) -> bool:
    return one is None or other is None or one == other


def _shapes(unit: Unit) -> dict:
    return _canonical({name: x.shape for name, x in unit.slots.items()})


def _canonical(shapes: dict) -> dict:
    """Leave out the name of a matrix that is alone: embeddings or kernel."""
    (*_, last) = shapes.values()
    return {"": last} if len(shapes) == 1 and len(last) == 2 else shapes


def _with_names_of(unit: Unit, group: Group) -> Group:
    if len(unit.slots) > 1:
        return group
    fields = dict(zip(unit.slots, group.fields.values(), strict=True))
    return group._replace(fields=fields)


def _likeness(unit: Unit, group: Group) -> tuple[int, int]:
    """Count the variables of the same name and shape, and of the same name."""
    shapes = group.shapes
    same = [name for name in unit.slots if name in shapes]
    equal = [name for name in same if unit.slots[name].shape == shapes[name]]
    return len(equal), len(same)
