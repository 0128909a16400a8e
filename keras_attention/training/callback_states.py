"""The states of callbacks: read from their attributes, and put back."""

import hashlib
import inspect
import io
import json
import warnings
from typing import Any

import keras
import numpy as np

from keras_attention.training.plain_values import as_bytes
from keras_attention.training.plain_values import is_plain
from keras_attention.training.plain_values import pack

NOT_THEIRS = {"params", "_model", "model"}  # Keras sets them
PLACES = ("dir", "file", "folder", "path")  # in names of arguments
OURS = ("keras.", "keras_attention.")  # modules whose callbacks are known


def known_arguments(callback: keras.callbacks.Callback) -> dict | None:
    """Read the arguments of a callback of Keras or of this package.

    Args:
        callback: Any callback.

    Returns:
        The plain ones that decide what it does, without places of files;
        `None` for callbacks of others.
    """
    if not _is_known(callback):
        return None
    values = {name: vars(callback).get(name) for name in _names(callback)}
    return {
        name: value
        for name, value in values.items()
        if is_plain(value) and not _is_place(name) and name != "verbose"
    }


def fingerprints(callback: keras.callbacks.Callback) -> dict[str, str]:
    """Describe the plain attributes of a callback, to see which change.

    Args:
        callback: Any callback.

    Returns:
        A text for each attribute, which differs if its value does.
    """
    return {name: _fingerprint(x) for name, x in _plain(callback).items()}


def read_callback(
    callback: keras.callbacks.Callback, before: dict[str, str]
) -> dict[str, Any]:
    """Read the state of a callback.

    Args:
        callback: Any callback.
        before: Its `fingerprints` when training began. What has not changed
            since is left out: it is what the user gave.

    Returns:
        Its plain attributes, and the content of files that it writes.
    """
    values = {
        name: value
        for name, value in _plain(callback).items()
        if _fingerprint(value) != before.get(name)
    }
    files = {
        name: _content(value)
        for name, value in vars(callback).items()
        if _is_written(value)
    }
    if isinstance(callback, keras.callbacks.CSVLogger):
        values["append_header"] = not any(map(len, files.values()))
    return {"values": values, "files": files}


def set_callback(callback: keras.callbacks.Callback, state: dict[str, Any]):
    """Set a callback to the state of another one.

    Args:
        callback: A callback whose training has begun.
        state: What `read_callback` read from one of the same class.
    """
    for name, value in state["values"].items():
        setattr(callback, name, value)
    for name, content in state["files"].items():
        file = vars(callback).get(name)
        if _is_written(file):
            file.seek(0)
            file.truncate()
            raw = getattr(file, "buffer", file)  # without other line ends
            raw.write(content.tobytes())
            file.flush()


def others_of(callback: keras.callbacks.Callback) -> dict[str, Any]:
    """Read the attributes that `read_callback` does not keep.

    Returns:
        Each with its length, if it has one.
    """
    return {
        name: (value, len(value) if hasattr(value, "__len__") else None)
        for name, value in vars(callback).items()
        if name not in NOT_THEIRS
        and not is_plain(value)
        and not _is_written(value)
    }


def warn_of_lost(
    callback: keras.callbacks.Callback, before: dict[str, Any]
) -> bool:
    """Warn if the state of a callback has attributes that cannot be kept.

    Args:
        callback: A callback in training.
        before: Its `others_of` when training began.

    Returns:
        Whether it warned.
    """
    if _is_known(callback):
        return False
    lost = []
    for name, (value, length) in others_of(callback).items():
        first = before.get(name, (None, None))
        if value is not first[0] or length != first[1]:
            lost.append(f"{type(callback).__name__}.{name}")
    if lost:
        warnings.warn(
            f"ResumeTraining cannot keep {', '.join(lost)}: a run that is "
            "resumed begins without. Use numbers, strings and arrays, or "
            "lists and dictionaries of them.",
            stacklevel=2,
        )
    return bool(lost)


def _is_known(callback):
    return type(callback).__module__.startswith(OURS)


def _names(callback):
    return inspect.signature(type(callback).__init__).parameters


def _plain(callback):
    return {
        name: value
        for name, value in vars(callback).items()
        if name not in NOT_THEIRS and is_plain(value)
    }


def _fingerprint(value):
    arrays = []
    text = json.dumps(pack(value, arrays))
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        digest.update(as_bytes(array))
    return digest.hexdigest()


def _is_place(name):
    return any(place in name for place in PLACES)


def _is_written(value):
    opened = isinstance(value, io.IOBase) and not value.closed
    return opened and value.writable() and value.seekable()


def _content(file):
    """Read what has been written to a file, as an array of bytes."""
    file.flush()
    with open(file.name, "rb") as written:
        return np.frombuffer(written.read(), np.uint8)
