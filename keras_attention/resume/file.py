"""Read and write state files: plain values with a checksum, without code."""

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
ANEW = "Run the command that wrote it, or remove its folder to start again."
ALONE = (bool, int, float, str, type(None))
COLLECTIONS = {"list": list, "tuple": tuple, "set": set}


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Convert a value for JSON, and append its arrays to a list.

    Args:
        value: Numbers, strings, `None`, paths, arrays, tensors, operations of
            `keras.ops`, and lists, tuples, sets and dictionaries of these.
        arrays: The list to which arrays are appended.

    Returns:
        A value that `unpack` converts to an equal value of the same types.

    Raises:
        TypeError: If the value contains anything else.
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
    raise TypeError(f"not a plain value: {type(value).__name__}")


def unpack(packed: Any, read: Callable[[int], np.ndarray]) -> Any:
    """Convert a value from `pack` back.

    Args:
        packed: The result of `pack`, possibly decoded from JSON.
        read: Function that returns an array by its position in the list,
            which begins at 1.

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
    """Replace a state file, either completely or not at all.

    Args:
        file: The file. Its folder is created if missing.
        state: Plain values, as `pack` accepts them.

    Raises:
        OSError: If the file cannot be written, for example because the disk is
            full. The message names the file.
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
    """Read a state file.

    Args:
        file: The file.

    Returns:
        The state, or `None` if there is no file.

    Raises:
        ValueError: If it is not a file, or damaged. The message names it.
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
                    f"{about['version']}, but this package reads {VERSION}"
                )
            return unpack(about["state"], lambda n: content[f"arr_{n}"])


def reading_state(file: Path) -> contextlib.AbstractContextManager:
    """Name the file in errors of the block, like `reading`."""
    return reading(file, SAME, ANEW)


def refuse(file: Path, reason: object) -> NoReturn:
    """Raise a `ValueError` that names the file and explains how to continue."""
    raise unusable(file, SAME, reason, ANEW)


def remove_state(file: Path):
    """Remove the file, and its folder unless it contains other files."""
    file.unlink(missing_ok=True)
    recover(file)
    if file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
