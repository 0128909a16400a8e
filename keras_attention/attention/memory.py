"""The prepared memory of a source, its masks, and checks of inputs."""

from typing import Any
from typing import NamedTuple

import numpy as np

from keras_attention.arrays import PAD
from keras_attention.arrays import check_dense
from keras_attention.backend import ops
from keras_attention.checks import check_shape
from keras_attention.ops import cast
from keras_attention.ops import join_masks
from keras_attention.ops import keep_real
from keras_attention.ops.rows import reshaped


class Memory(NamedTuple):
    """Holds the memory that queries attend to, prepared once per source.

    Attributes:
        keys: Keys `(B, Tv, ...)`, projected by the layer that prepared them.
        values: Values `(B, Tv, Dv)`, 0 at padding.
        mask: Boolean `(B, Tv)`, `True` at valid positions, or `None`.
    """

    keys: Any
    values: Any
    mask: Any = None


def check_source(layer, value, key=None, value_mask=None):
    """Check the shapes of a source, as far as they are known.

    Args:
        layer: The layer that needs it, for the error.
        value: Values, which must be `(B, Tv, Dv)`.
        key: Keys, which must be `(B, Tv, Dk)`, or `None`.
        value_mask: Mask, which must be `(B, Tv)`, or `None`.

    Raises:
        ValueError: If a shape does not match.
    """
    shape = check_sequence(layer, "value", value, "(B, Tv, Dv)", value_mask)
    if key is not None:
        keys = check_sequence(layer, "key", key, "(B, Tv, Dk)")
        needs = f"{type(layer).__name__} needs one `key` for each `value`"
        way_out = "Omit `key` if the values are also the keys."
        check_shape(needs, "key", keys, (*shape[:2], None), way_out)


def check_query(layer, query, value, query_mask=None, attention_mask=None):
    """Check the shapes of queries against those of a source.

    Args:
        layer: The layer that needs them, for the error.
        query: Queries, which must be `(B, Tq, Dq)`.
        value: `(B, Tv, Dv)`.
        query_mask: Mask, which must be `(B, Tq)`, or `None`.
        attention_mask: Mask, which must broadcast to `(B, Tq, Tv)`, or
            `None`.

    Raises:
        ValueError: If a shape does not match.
    """
    queries = check_sequence(layer, "query", query, "(B, Tq, Dq)", query_mask)
    source = shape_of(value)
    needs = (
        f"{type(layer).__name__} needs queries and values with the same "
        "batch size"
    )
    rows = (source[0], *queries[1:])
    check_shape(
        needs, "query", queries, rows, "Pass the same number of rows for both."
    )
    if attention_mask is None:
        return
    given, table = shape_of(attention_mask), (*queries[:2], source[1])
    pairs = zip(given[::-1], table[::-1], strict=False)
    fits = all(None in pair or pair[0] in (1, pair[1]) for pair in pairs)
    if len(given) > 3 or not fits:
        raise ValueError(
            f"{type(layer).__name__} needs an `attention_mask` that broadcasts "
            f"to (B, Tq, Tv), here {table}. Received: "
            f"attention_mask.shape={given}. Use sizes of 1 for axes along "
            "which it does not change."
        )


def real_sequence(layer, name: str, x, mask, wanted: str) -> tuple:
    """Check a sequence and its mask, and set padding to zeros.

    Args:
        layer: The layer that needs it, for the error.
        name: Name of the argument, for the error message.
        x: The sequence, a tensor, an array or a list.
        mask: Its mask, or `None`.
        wanted: The axes of the sequence, for the error.

    Returns:
        The sequence in the layer's compute dtype, and the boolean mask.

    Raises:
        ValueError: If a shape does not match.
    """
    check_sequence(layer, name, x, wanted, mask, "mask")
    mask = as_mask(mask)
    return keep_real(cast(x, layer.compute_dtype), mask), mask


def check_sequence(
    layer,
    name: str,
    x,
    wanted: str,
    mask=None,
    mask_name: str | None = None,
    size: int | None = None,
) -> tuple:
    """Check a sequence and its mask as far as known, and return its shape.

    Args:
        layer: The layer that needs it, for the error.
        name: Name of the sequence, for the error.
        x: A tensor, an array or a list, which must have three axes.
        wanted: These axes, such as `"(B, T, D)"`, for the error.
        mask: Its mask, which must have the first two axes. Defaults to
            `None`.
        mask_name: Name of the mask. Defaults to `None`, the name of the
            sequence with the suffix `"_mask"`.
        size: As in `check_features`. Defaults to `None`.

    Raises:
        ValueError: If a shape does not match.
    """
    needs = f"{type(layer).__name__} needs `{name}` of the shape {wanted}"
    check_dense(
        needs, name, x, f"{PAD} Pass a mask that is True at valid positions."
    )
    shape, way_out = shape_of(x), f"For a single sequence, pass {name}[None]."
    if name == "query":
        way_out = f"For one query per row, pass query[:, None]. {way_out}"
    check_shape(needs, name, shape, (None, None, None), way_out)
    check_features(layer, name, shape, size)
    if mask is None:
        return shape
    name, (axes, *_) = mask_name or f"{name}_mask", wanted.rpartition(",")
    needs = f"{type(layer).__name__} needs `{name}` as booleans {axes}), True "
    needs += "where there is no padding"
    check_dense(needs, name, mask, PAD)
    way_out = (
        "To create a mask from lengths (B,): np.arange(T) < lengths[:, None]."
    )
    check_shape(needs, name, shape_of(mask), shape[:2], way_out)
    return shape


def check_features(layer, name: str, shape, size: int | None):
    """Check the size of the last axis against a layer's weights.

    Args:
        layer: The layer that needs it, for the error.
        name: Name of the argument, for the error.
        shape: Shape of the argument, `None` for an unknown size.
        size: The required size; `None` allows any size.

    Raises:
        ValueError: If the size is different.
    """
    if None not in (size, shape[-1]) and shape[-1] != size:
        raise ValueError(
            f"{type(layer).__name__} needs `{name}` with the {size} features "
            f"that it was built for. Received: {name}.shape={tuple(shape)}. "
            "Create a new layer for inputs of another size."
        )


def with_features(layer, name: str, x, size: int | None):
    """Check the size of the last axis, and set it if it is unknown.

    Args:
        layer: As in `check_features`.
        name: As in `check_features`.
        x: `(..., D)`.
        size: As in `check_features`.

    Returns:
        `(..., D)`, with a static shape that ends with `D`.

    Raises:
        ValueError: If the size is different.
    """
    shape = shape_of(x)
    check_features(layer, name, shape, size)
    if size is None or shape[-1] is not None:
        return x
    return reshaped(x, (*ops.shape(x)[:-1], size))


def as_mask(mask):
    """Cast a mask to booleans; `None` is returned unchanged."""
    return None if mask is None else ops.cast(mask, "bool")


def shape_of(x) -> tuple:
    """Return the shape of a tensor, an array or a list."""
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def visible_positions(
    query, memory: Memory, attention_mask=None, causal: bool = False
):
    """Combine all masks of a call.

    Args:
        query: `(B, Tq, Dq)`.
        memory: The prepared source.
        attention_mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.
        causal: Whether query `i` attends only to positions `j <= i`.

    Returns:
        Boolean that broadcasts to `(B, Tq, Tv)`, or `None` if nothing is
        masked.
    """
    real = earlier = None
    if memory.mask is not None:
        real = ops.expand_dims(memory.mask, 1)  # (B, 1, Tv)
    if causal:
        queries = ops.arange(ops.shape(query)[1], dtype="int32")
        words = ops.arange(ops.shape(memory.values)[1], dtype="int32")
        earlier = ops.expand_dims(queries, 1) >= words
    return join_masks(as_mask(attention_mask), real, earlier)


def real_positions(memory: Memory, beams: int, dtype: str):
    """Return 1.0 at valid positions and 0.0 at padding, `(B, K, Tv)`."""
    batch, words = ops.shape(memory.values)[:2]
    real = ops.ones((batch, beams, words), dtype)
    if memory.mask is None:
        return real
    mask = ops.expand_dims(as_mask(memory.mask), 1)
    return ops.where(mask, real, ops.zeros_like(real))
