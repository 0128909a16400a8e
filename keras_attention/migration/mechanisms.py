"""The attention mechanisms of a source: their variables, put together."""

from collections.abc import Callable

from keras_attention.migration.groups import MECHANISMS
from keras_attention.migration.groups import Group
from keras_attention.migration.groups import the_first
from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import natural


def mechanism_groups(entries: list, count: int) -> list[Group]:
    """Put the variables of each mechanism together.

    The scope of a variable is no help: that of a query's kernel is the
    wrapper, that of a memory's kernel is whoever set the memory. The name of
    the mechanism itself is the same, but for a counter.

    Args:
        entries: Owner, field and variable of every variable, in their order.
        count: How many mechanisms the target has.

    Returns:
        One `Group` for each mechanism.
    """
    if count == 1:
        groups = _split(entries, lambda _: ())
        if groups is not None:
            return groups
    for key in (_plain_name, _name):
        groups = _split(entries, key)
        if groups is not None:
            return groups
    return _split(entries, lambda owner: owner) or []


def with_memories(entries: list, everything: list) -> list:
    """Add what belongs to mechanisms whose prefix has only a part of them.

    Whoever sets the memory makes its kernel, outside of the wrapper.

    Args:
        entries: Owner, field and variable of what has the prefix.
        everything: The same of the whole source.

    Returns:
        The entries, and those outside of other wrappers that complete them:
        of the same name, and, if that has a counter for each wrapper, of the
        same rank. All of these, if nothing of a mechanism has the prefix.
    """
    known = {id(x) for _, _, x in entries}
    outside = [
        entry
        for entry in everything
        if id(entry[2]) not in known and not _depth(entry[0])[0]
    ]
    if not entries:
        return outside
    mine, fields = {}, {}
    for owner, field, _ in entries:
        mine[_plain_name(owner)] = owner
        fields.setdefault(_plain_name(owner), []).append(field)
    missing = {}
    for entry in outside:
        name, field = _plain_name(entry[0]), entry[1]
        if name in fields and _is_missing(field, fields[name]):
            missing.setdefault((name, field), []).append(entry)
    for (name, _), found in missing.items():
        wrapped = {x for x, _, _ in everything if _depth(x)[0]}
        rivals = [x for x in wrapped if _plain_name(x) == name]
        entries = entries + _of_rank(found, mine[name], rivals)
    return entries


def _of_rank(found, mine, rivals) -> list:
    """Select by the order of counters, if each wrapper has one of these."""
    if mine not in rivals or len(found) != len(rivals):
        return found
    found = sorted(found, key=lambda entry: natural(entry[0]))
    return [found[sorted(rivals, key=natural).index(mine)]]


def _is_missing(field, present) -> bool:
    kernels = [x for x in present if x in ("kernel", "query", "memory")]
    if field in ("kernel", "query", "memory"):
        return len(kernels) < 2 and (field == "kernel" or field not in present)
    return field not in present


def _plain_name(owner):
    return tuple(base(part) if part else part for part in _name(owner))


def _name(owner):
    """Return a mechanism's own name, with its index in a list."""
    listed = owner[-1].isdigit() or owner[-2:-1] == (MECHANISMS,)
    return owner[-2:] if listed else owner[-1:]


def _split(entries, key: Callable) -> list[Group] | None:
    """Group variables by a key; `None` if two then have the same place."""
    found = {}
    for owner, field, x in entries:
        found.setdefault(key(owner), []).append((owner, field, x))
    groups = []
    for same in found.values():
        named = _name_kernels(same)
        if len({field for field, _ in named}) < len(named):
            return None
        longest = max((owner for owner, _, _ in same), key=len)
        groups.append(Group(longest, dict(named)))
    return groups


def _name_kernels(entries) -> list[tuple[str, Stored]]:
    """Tell whether a kernel without a name is the query's or the memory's.

    A layer that is built, but not called, has no scope of its own. The
    query's is built in the wrapper, deeper inside.
    """
    known = {field for _, field, _ in entries}
    nameless = [x for x in entries if x[1] == "kernel"]
    nameless.sort(key=lambda entry: _depth(entry[0]))
    fields = ["memory"] + ["query"] * (len(nameless) - 1)
    if len(nameless) == 1 and "vector" in known:
        if "memory" in known or _depth(nameless[0][0])[0]:
            fields = ["query"]
    named = [(field, x) for _, field, x in entries if field != "kernel"]
    return named + [
        (field, x) for field, (_, _, x) in zip(fields, nameless, strict=False)
    ]


def _depth(owner) -> tuple:
    inside = any(base(part) == "attention_wrapper" for part in owner)
    return inside, len(owner)


def in_order_of(wanted: list, groups: list[Group]) -> list[Group | None]:
    """Find the mechanism of each attention.

    Args:
        wanted: The slots of each attention, by field.
        groups: The mechanisms of the source, in their order.

    Returns:
        For each attention the mechanism of its index, where there are any;
        else the one that is left and fits best, by its shapes, else by its
        fields, else by having a score vector or not. `None` where none is
        left, or where several fit whose names give no order.
    """
    if all(one.owner[-1:] and one.owner[-1].isdigit() for one in groups):
        found = sorted(groups, key=lambda one: natural(one.owner))
        found = [*found, *[None] * len(wanted)]
        return [
            one and resolve_scalar(one, slots)
            for one, slots in zip(found, wanted, strict=False)
        ]
    left, found = list(groups), []
    for slots in wanted:
        least = min((_misfit(one, slots) for one in left), default=None)
        best = the_first([x for x in left if _misfit(x, slots) == least])
        found.append(best and resolve_scalar(best, slots))
        left = [one for one in left if one is not best]
    return found


def resolve_scalar(group: Group, slots: dict) -> Group:
    """Name the one scalar of a file without names, as the target needs it.

    Args:
        group: A mechanism.
        slots: The slots of the attention, by field.
    """
    fields = dict(group.fields)
    if "scalar" in fields:
        name = "score_bias" if "score_bias" in slots else "gain"
        fields[name] = fields.pop("scalar")
    return group._replace(fields=fields)


def _misfit(group: Group, slots: dict) -> tuple:
    group = resolve_scalar(group, slots)
    shapes = {field: slot.shape for field, slot in slots.items()}
    return (
        group.shapes != shapes,
        set(group.fields) != set(slots),
        ("vector" in group.fields) != ("vector" in slots),
    )
