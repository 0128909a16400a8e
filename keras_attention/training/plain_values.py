"""Values of Python as JSON and arrays, so that no code runs from files."""

from pathlib import Path
from typing import Any

import keras
import numpy as np

ALONE = (bool, int, float, str, type(None))
COLLECTIONS = {"list": list, "tuple": tuple, "set": set}


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Write a value as what JSON knows, and its arrays to a list.

    Args:
        value: Numbers, strings, `None`, paths, arrays, tensors, operations of
            `keras.ops`, and lists, tuples, sets and dictionaries of these.
        arrays: The list to which arrays are added.

    Returns:
        What `unpack` turns into an equal value of the same types.

    Raises:
        TypeError: If there is anything else in it.
    """
    if type(value) in ALONE:
        return value
    for name, kind in COLLECTIONS.items():
        if type(value) is kind:
            return {name: [pack(x, arrays) for x in value]}
    if type(value) is dict:
        items = [[pack(x, arrays) for x in item] for item in value.items()]
        return {"dict": items}
    if isinstance(value, Path):
        return {"path": str(value)}
    if _is_operation(value):
        return {"operation": value.__name__}
    if keras.ops.is_tensor(value):
        value = keras.ops.convert_to_numpy(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        arrays.append(value)
        about = [len(arrays) - 1, value.dtype.name, list(value.shape)]
        if value.dtype.kind in "SUmM":  # their names say no size or unit
            about[1] = value.dtype.str
        return {kind: about}
    raise TypeError(f"no plain value: {type(value).__name__}")


def unpack(packed: Any, arrays: list[np.ndarray]) -> Any:
    """Read what `pack` wrote.

    Args:
        packed: What `pack` returned, perhaps through JSON.
        arrays: The arrays that it added to its list.

    Returns:
        The value.
    """
    if type(packed) in ALONE:
        return packed
    ((name, content),) = packed.items()
    if name in COLLECTIONS:
        return COLLECTIONS[name](unpack(x, arrays) for x in content)
    if name == "dict":
        return dict([unpack(x, arrays) for x in item] for item in content)
    if name == "path":
        return Path(content)
    if name == "operation":
        return getattr(keras.ops, content)
    index, dtype, shape = content
    array = np.frombuffer(arrays[index].tobytes(), np.dtype(dtype)).copy()
    array = array.reshape(shape)
    return array[()] if name == "scalar" else array


def is_plain(value: Any) -> bool:
    """Return whether `pack` can write a value."""
    try:
        pack(value, [])
    except (TypeError, RecursionError):
        return False
    return True


def _is_operation(value):
    name = getattr(value, "__name__", "")
    return callable(value) and getattr(keras.ops, str(name), None) is value


def as_bytes(array: np.ndarray | np.generic) -> np.ndarray:
    """View what `pack` has added as bytes, without a copy where it can be."""
    if array.dtype.kind in "SUmM":
        return np.frombuffer(array.tobytes(), np.uint8)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
