"""The file of a state: plain values, whole or not there, sealed, no code."""

import json
import stat
from pathlib import Path
from typing import Any
from typing import NoReturn

import keras
import numpy as np

from keras_attention.files import check_seal
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.files import seal

VERSION = 2  # of what is in the file
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
        arrays.append(value)
        # `str` has size and unit, but no name of bfloat16 and its like.
        dtype = value.dtype.name if value.dtype.kind == "V" else value.dtype.str
        return {"array": [len(arrays) - 1, dtype, list(value.shape)]}
    raise TypeError(f"no plain value: {type(value).__name__}")


def unpack(packed: Any, arrays: list[bytes]) -> Any:
    """Read what `pack` wrote.

    Args:
        packed: What `pack` returned, perhaps through JSON.
        arrays: The bytes of the arrays that it added to its list.

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
    array = np.frombuffer(arrays[index], np.dtype(dtype)).copy().reshape(shape)
    return array[()]  # without axes: a number


def as_bytes(array: np.ndarray | np.generic) -> memoryview:
    """View an array as bytes, without a copy where it can be."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


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
    parts = [as_bytes(array) for array in arrays]
    text = json.dumps({**about, "sizes": [len(x) for x in parts]}).encode()
    try:
        with replaced_file(file) as draft:
            with draft.open("wb") as content:
                content.write(len(text).to_bytes(8, "little"))
                for part in (text, *parts):
                    content.write(part)
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
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # a device or a pipe has no end
        refuse(file, "it is a folder, a link, a pipe or a device, and no file")
    try:
        check_seal(file)
        content = memoryview(file.read_bytes())
        start = 8 + int.from_bytes(content[:8], "little")
        about = json.loads(bytes(content[8:start]))
        if about["version"] != VERSION:
            raise ValueError(f"it has version {about['version']}")
        arrays = []
        for size in about["sizes"]:
            arrays.append(content[start : start + size])
            start += size
        return unpack(about["state"], arrays)
    except Exception as error:  # who seals anything else may raise any
        refuse(file, f"{type(error).__name__}: {error}", error)


def refuse(
    file: Path, reason: object, error: Exception | None = None
) -> NoReturn:
    """Raise a `ValueError` that names the file and says how to go on."""
    raise ValueError(
        "resumable_fit needs the state of the same training. Received: "
        f"{file}, which cannot be used: {reason}. Run the command that wrote "
        "it, or remove its folder to begin anew."
    ) from error


def remove_state(file: Path):
    """Remove the file, and its folder unless something else is in it."""
    file.unlink(missing_ok=True)
    recover(file)
    if file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
