"""What every export needs of the process and of the model, and leaves so."""

import contextlib
import errno
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

import keras

from keras_attention.ops.fast_paths import fast_path

LOGGERS = ("tensorflow", "absl", "tf2onnx")
ONE_AT_A_TIME = threading.RLock()  # streams, levels, models are shared


def check_exportable(needed_by: str):
    """Raise a `ValueError` unless Keras runs on TensorFlow.

    Args:
        needed_by: The function that exports, as the user typed it.
    """
    backend = fast_path("NAME", "tensorflow")
    if backend != "tensorflow":
        raise ValueError(
            f"{needed_by} needs Keras on TensorFlow. Received: "
            f"backend={backend!r}. Save the translator, and load and export "
            "it in a process with the environment variable "
            "KERAS_BACKEND=tensorflow."
        )


@contextlib.contextmanager
def portable(model: keras.Model) -> Iterator[None]:
    """Keep cuDNN and XLA out of what is traced inside the block.

    One thread at a time enters: what is set on the model's layers, here and
    inside, is of the whole process.

    Args:
        model: The model that is traced.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        for layer in sublayers(model):
            for name in ("jit_compile", "use_cudnn"):
                if hasattr(layer, name):
                    stack.callback(setattr, layer, name, getattr(layer, name))
                    setattr(layer, name, False)
        yield


def sublayers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """List a layer and all layers inside of it, each once.

    A layer is inside of another if an attribute of that one holds it, by
    itself or in lists, tuples, dictionaries and sets.

    Args:
        layer: The layer or model to begin with, which comes first.
    """
    found, seen, waiting = [], set(), [layer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, keras.layers.Layer):
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
                waiting.extend(_backwards(vars(value).values()))
        elif isinstance(value, dict):
            waiting.extend(_backwards(value.values()))
        elif isinstance(value, list | tuple | set):
            waiting.extend(_backwards(value))
    return found


def _backwards(values):
    """Reverse values, so that the first one is the next to be popped."""
    return reversed(list(values))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what is written to the standard error stream inside the block.

    Converters write there without Python, so the file descriptor is
    redirected too, and what other threads write meanwhile is lost. One thread
    at a time enters. Exceptions pass with their messages. A stream or a
    descriptor that was closed is closed again.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        nothing = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(_redirected(nothing))
        for name in LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        stack.enter_context(contextlib.redirect_stderr(nothing))
        yield


@contextlib.contextmanager
def _redirected(nothing: TextIO) -> Iterator[None]:
    """Redirect file descriptor 2 to `nothing`, which may have it already."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()  # there may be none, or a closed one
    try:
        kept = os.dup(2) if nothing.fileno() != 2 else None
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        kept = None  # it is closed
    try:
        os.dup2(nothing.fileno(), 2)
        yield
    finally:
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)
        elif nothing.fileno() != 2:
            os.close(2)
