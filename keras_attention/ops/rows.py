"""Rows: joined axes, and rows taken by their numbers, with few operations.

What a loop in a graph repeats at every step costs a few microseconds for each
operation, however small.
"""

import math

from keras import ops

from keras_attention.ops.fast_paths import fast_path


def take_rows(x, index):
    """Take rows by their numbers, which are in range.

    `ops.take` also allows negative numbers, by five operations more.

    Args:
        x: `(N, ...)`.
        index: Int32 from 0 to `N - 1`, of any shape.

    Returns:
        A tensor of the shape of `index`, followed by the rest of that of `x`.
    """
    return fast_path("take_rows", _take)(x, index)


def look_up(table, ids):
    """Look ids up in a table, with one gradient for each id.

    Formula:

        outputs[i] = table[ids[i]]
        d table[j] = sum over i with ids[i] = j of d outputs[i]

    TensorFlow's own gradient lists the `d outputs[i]`, and Keras' optimizers
    square them one by one: Adam's second moments and norms for clipping are
    then wrong where an id comes several times.

    Args:
        table: Float tensor `(V, E)`.
        ids: Integer tensor of any shape, from 0 to `V - 1`.

    Returns:
        A tensor of the shape of `ids`, and `E`.
    """
    return fast_path("look_up", _take)(table, ids)


def _take(x, index):
    return ops.take(x, index, axis=0)


def reshaped(x, shape: tuple):
    """Reshape a tensor by a shape that may have one unknown size.

    A single unknown size is left to be inferred, which needs no operation at
    all to compute it. It cannot be inferred beside a size of 0.

    Args:
        x: A tensor.
        shape: Integers, and scalar tensors for sizes that are unknown while
            tracing, as `ops.shape` gives them.

    Returns:
        The tensor with that shape.
    """
    known = [n for n in shape if isinstance(n, int)]
    if len(known) == len(shape) - 1 and math.prod(known):
        shape = tuple(n if isinstance(n, int) else -1 for n in shape)
    return ops.reshape(x, shape)
