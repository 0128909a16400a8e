"""What callbacks remember: read from their attributes, and put back."""

import io
import warnings
from typing import Any

import keras
import numpy as np

from keras_attention.resume.identity import digest
from keras_attention.resume.identity import known

SET_BY_KERAS = {"params", "_model", "model"}


class KeptCallbacks:
    """Reads and puts back the states of callbacks.

    Attributes that are plain values are kept, generators of Keras, and what
    stands in the files that a callback writes. What has not changed since
    training began is left out: it is what the user gave.

    Args:
        callbacks: The callbacks. Their training has begun.
    """

    def __init__(self, callbacks: list[keras.callbacks.Callback]):
        self.callbacks = callbacks
        self.begun_with = [_digests(x) for x in callbacks]
        self.unkept = {
            x: _others(x) for x in callbacks if x not in known(callbacks)
        }

    def read(self) -> list[dict[str, Any]]:
        """Read the state of each callback.

        It warns, once of each, of attributes that cannot be kept.
        """
        for callback, before in list(self.unkept.items()):
            after = _others(callback)
            if after != before:
                lost = [x for x in after if after[x] != before.get(x)]
                _warn(callback, lost)
                del self.unkept[callback]
        pairs = zip(self.callbacks, self.begun_with, strict=True)
        return [
            {
                "class": type(callback).__name__,
                "values": _changed(callback, before),
                "files": {
                    name: _content(file)
                    for name, file in callback.__dict__.items()
                    if _is_written(file)
                },
            }
            for callback, before in pairs
        ]

    def put_back(self, states: list[dict[str, Any]]):
        """Set each callback to the state of the first of its class.

        Args:
            states: What `read` returned, perhaps in another process.
        """
        left = list(self.callbacks)
        for state in states:
            for callback in left:
                if type(callback).__name__ == state["class"]:
                    left = [x for x in left if x is not callback]
                    _set(callback, state)
                    break


def _set(callback, state):
    for name, value in state["values"].items():
        if isinstance(callback.__dict__.get(name), keras.random.SeedGenerator):
            callback.__dict__[name].state.assign(value)
        else:
            setattr(callback, name, value)
    for name, content in state["files"].items():
        file = callback.__dict__.get(name)
        if _is_written(file):
            file.seek(0)
            file.truncate()
            raw = getattr(file, "buffer", file)  # without other line ends
            raw.write(content.tobytes())
            file.flush()


def _digests(callback):
    """Return a text for each attribute that can be kept."""
    digests = {}
    for name, value in callback.__dict__.items():
        try:
            digests[name] = digest(_readable(value))
        except (TypeError, RecursionError):
            continue
    return {k: v for k, v in digests.items() if k not in SET_BY_KERAS}


def _changed(callback, before):
    now = _digests(callback)
    names = [name for name in now if now[name] != before.get(name)]
    values = {name: _readable(callback.__dict__[name]) for name in names}
    if isinstance(callback, keras.callbacks.CSVLogger) and callback.csv_file:
        values["append_header"] = not len(_content(callback.csv_file))
    return values


def _readable(value):
    is_seed = isinstance(value, keras.random.SeedGenerator)
    return keras.ops.convert_to_numpy(value.state) if is_seed else value


def _others(callback):
    """Return what says of each other attribute whether it is the same."""
    kept = _digests(callback).keys() | SET_BY_KERAS
    return {
        name: (id(value), len(value) if hasattr(value, "__len__") else 0, value)
        for name, value in callback.__dict__.items()
        if name not in kept and not _is_written(value)
    }


def _warn(callback, names):
    lost = ", ".join(f"{type(callback).__name__}.{name}" for name in names)
    warnings.warn(
        f"resumable_fit cannot keep {lost}: a run that is resumed begins "
        "without. Use numbers, strings and arrays, or lists and dictionaries "
        "of them.",
        stacklevel=2,
    )


def _is_written(value):
    opened = isinstance(value, io.IOBase) and not value.closed
    return opened and value.writable() and value.seekable()


def _content(file):
    """Read what has been written to a file, as an array of bytes."""
    file.flush()
    with open(file.name, "rb") as written:
        return np.frombuffer(written.read(), np.uint8)
