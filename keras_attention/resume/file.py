"""The file of a state: plain values, whole or not there, sealed, no code."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import NoReturn

import keras
import numpy as np

from keras_attention.files import check_file
from keras_attention.files import check_seal
from keras_attention.files import reading
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.files import unusable

VERSION = 3  # of what is in the file
SAME = "resumable_fit needs the state of the same training."
ANEW = "Run the command that wrote it, or remove its folder to begin anew."
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
    name = str(getattr(value, "__name__", ""))
    if callable(value) and getattr(keras.ops, name, None) is value:
        return {"operation": name}
    if keras.ops.is_tensor(value):
        value = keras.ops.convert_to_numpy(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        arrays.append(np.asarray(value))
        # Files of NumPy know bfloat16 and its like only as so many bytes.
        dtype = value.dtype.name if value.dtype.kind == "V" else value.dtype.str
        return {"array": [len(arrays), dtype]}
    raise TypeError(f"no plain value: {type(value).__name__}")


def unpack(packed: Any, read: Callable[[int], np.ndarray]) -> Any:
    """Read what `pack` wrote.

    Args:
        packed: What `pack` returned, perhaps through JSON.
        read: Function that returns an array by its number in the list, which
            counts from 1.

    Returns:
        The value.
    """
    if type(packed) in ALONE:
        return packed
    ((name, content),) = packed.items()
    if name in COLLECTIONS:
        return COLLECTIONS[name](unpack(x, read) for x in content)
    if name == "dict":
        return dict([unpack(x, read) for x in item] for item in content)
    if name == "path":
        return Path(content)
    if name == "operation":
        return getattr(keras.ops, content)
    number, dtype = content
    return read(number).view(np.dtype(dtype))[()]  # without axes: a number


def write_state(file: Path, state: dict[str, Any]):
    """Write a state in place of the one before, whole or not at all.

    Args:
        file: The file. Its folder is made.
        state: Plain values, as `pack` takes them.

    Raises:
        OSError: If it cannot be written, such as for want of room. It names
            the file.
    """
    arrays = []
    about = {"version": VERSION, "state": pack(state, arrays)}
    try:
        with replaced_file(file) as draft:
            with draft.open("wb") as content:
                text = np.frombuffer(json.dumps(about).encode(), "u1")
                np.savez(content, text, *arrays)
            seal(draft)
    except OSError as error:
        said = f"cannot write the state of a training: {error.strerror}"
        raise OSError(error.errno, said, str(file)) from error


def read_state(file: Path) -> dict[str, Any] | None:
    """Read the last state that was written.

    Args:
        file: The file.

    Returns:
        The state, or `None` if there is none.

    Raises:
        ValueError: If it is no file, or damaged. The message names it.
    """
    if file.parent.is_dir():
        recover(file)
    if not file.exists() and not file.is_symlink():
        return None
    with reading_state(file):
        check_file(file, file.parent)
        check_seal(file)
        with np.load(file) as content:
            about = json.loads(content["arr_0"].tobytes())
            if about["version"] != VERSION:
                raise ValueError(
                    f"another version of this package wrote it: it has version "
                    f"{about['version']}, and this package reads {VERSION}"
                )
            return unpack(about["state"], lambda n: content[f"arr_{n}"])


def reading_state(file: Path) -> contextlib.AbstractContextManager:
    """Name the file in an error of the block, as `reading` does."""
    return reading(file, SAME, ANEW)


def refuse(file: Path, reason: object) -> NoReturn:
    """Raise a `ValueError` that names the file and says how to go on."""
    raise unusable(file, SAME, reason, ANEW)


def remove_state(file: Path):
    """Remove the file, and its folder unless something else is in it."""
    file.unlink(missing_ok=True)
    recover(file)
    if file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
