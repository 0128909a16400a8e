"""Top-k of a large axis, by groups."""

import math

from keras import ops

from keras_attention.ops.rows import take_rows

GROUP = 64  # numbers in a group


def top_k(x, k: int):
    """Return the `k` largest numbers of each row, in descending order.

    It equals `ops.top_k`, but is faster for an axis as large as a vocabulary:
    the `k` largest numbers are in the `k` groups with the largest maxima, and
    only those are searched. Equal numbers keep their order, except on torch,
    whose `topk` promises none.

    Args:
        x: Float tensor `(..., V)`. If `V` is unknown while tracing, all
            numbers are searched.
        k: Number of values, at most `V`.

    Returns:
        Values and int32 indices, `(..., k)` each.
    """
    size = x.shape[-1]
    groups = 0 if size is None else size // GROUP
    if groups < 4 * k or 0 in x.shape:
        values, indices = ops.top_k(x, k)
        return values, ops.cast(indices, "int32")
    shape = ops.shape(x)[:-1]
    rows = ops.reshape(x, (-1, size))
    head = rows[:, : groups * GROUP] if size % GROUP else rows
    head = ops.reshape(head, (-1, groups, GROUP))
    _, best = ops.top_k(ops.max(head, axis=-1, initial=-math.inf), k)
    # Groups in ascending order: equal numbers then keep their order.
    best = -ops.top_k(-ops.cast(best, "int32"), k)[0]  # (N, k)
    numbers = ops.arange(ops.shape(rows)[0], dtype="int32")[:, None]
    head = ops.reshape(head, (-1, GROUP))
    found = take_rows(head, groups * numbers + best)  # (N, k, GROUP)
    within = best[..., None] * GROUP + ops.arange(GROUP, dtype="int32")
    found, within = (ops.reshape(y, (-1, k * GROUP)) for y in (found, within))
    if size % GROUP:
        found = ops.concatenate([found, rows[:, groups * GROUP :]], axis=-1)
        rest = ops.arange(groups * GROUP, size, dtype="int32") + 0 * numbers
        within = ops.concatenate([within, rest], axis=-1)
    values, places = ops.top_k(found, k)
    places = ops.cast(places, "int32") + found.shape[-1] * numbers
    indices = take_rows(ops.reshape(within, (-1,)), places)
    shape = (*shape, k)
    return ops.reshape(values, shape), ops.reshape(indices, shape)


def at_most(k: int, x) -> int:
    """Return `k`, or the size of the last axis if that is known and less."""
    size = x.shape[-1]
    return k if size is None else min(k, size)
