"""Rows: joined axes, rows by their numbers, and the largest of each row.

In a loop of a graph, each operation takes a few microseconds per step, however
small its tensors are.
"""

import math

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.ops.operations import is_portable

GROUP = 64  # numbers of a row that `top_k` searches together


def take_rows(x, index):
    """Take rows by their numbers, which are in range.

    `ops.take` also allows negative numbers, which takes five more operations.

    Args:
        x: `(N, ...)`.
        index: Int32 from 0 to `N - 1`, of any shape.

    Returns:
        A tensor of the shape of `index`, followed by the rest of that of `x`.
    """
    return backend.take_rows(x, index)


def take_columns(x, ids):
    """Take entries of the last axis by their numbers.

    The function indexes one flat axis, because LiteRT does not know the sizes
    of `take_along_axis` before it runs.

    Args:
        x: `(B, K, V)`.
        ids: Int32 from 0 to `V - 1`, that broadcast to `(B, K, S)`.

    Returns:
        `(B, K, S)`.
    """
    batch, rows, size = ops.shape(x)
    first = size * ops.arange(batch * rows, dtype="int32")
    places = reshaped(first, (batch, rows, 1)) + ids
    return take_rows(ops.reshape(x, (-1,)), places)


def look_up(table, ids):
    """Look ids up in a table, with a gradient for all of it.

    Formula:

        outputs[i] = table[ids[i]]
        d table[j] = sum over i with ids[i] = j of d outputs[i]

    TensorFlow's own gradient is a list of the `d outputs[i]`. Keras' optimizers
    square the elements of this list one by one. If an id occurs several times,
    in one batch, in two replicas, or because a table is looked up twice, Adam's
    second moments and norms for clipping are then wrong.

    Args:
        table: Float tensor `(V, E)`.
        ids: Integer tensor of any shape, from 0 to `V - 1`.

    Returns:
        A tensor of the shape of `ids`, and `E`.
    """
    return backend.look_up(table, ids)


def reshaped(x, shape: tuple):
    """Reshape a tensor by a shape that may have unknown sizes.

    If a single size is unknown, it is inferred, so that no operation has to
    compute it. A size cannot be inferred if another size is 0. A portable
    program has no sizes of 0, and infers one of several unknown sizes.

    Args:
        x: A tensor.
        shape: Integers, and scalar tensors for sizes that are unknown while
            tracing, as `ops.shape` gives them.

    Returns:
        The tensor with that shape.
    """
    unknown = [i for i, n in enumerate(shape) if not isinstance(n, int)]
    nonzero = math.prod(n for n in shape if isinstance(n, int))
    if unknown and nonzero and (len(unknown) == 1 or is_portable()):
        first = unknown[0]
        shape = *shape[:first], -1, *shape[first + 1 :]
    return ops.reshape(x, _joined(shape))


def broadcast(x, shape: tuple):
    """Broadcast a tensor to a shape that may have unknown sizes.

    Arguments and result are those of `reshaped`.
    """
    return ops.broadcast_to(x, _joined(shape))


def _joined(shape):
    if is_portable() and not all(isinstance(n, int) for n in shape):
        return backend.joined_sizes(shape)
    return shape


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
    return reshaped(values, shape), reshaped(indices, shape)


def at_most(k: int, x) -> int:
    """Return `k`, or the size of the last axis if that is known and less."""
    size = x.shape[-1]
    return k if size is None else min(k, size)
