"""Prepare the process and the model for an export, and restore them."""

import contextlib
import errno
import io
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import keras

from keras_attention.backend import backend
from keras_attention.layers import sublayers

OF_INSIDE = ("_", "-", "/", "\\", ">")  # begin no name of a whole graph
LOGGERS = ("tensorflow", "absl", "tf2onnx")
SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*")  # what TensorFlow takes as a name
OPERATION = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
ONE_AT_A_TIME = threading.RLock()  # streams, levels, models are shared


def check_exportable(needed_by: str):
    """Raise a `ValueError` unless Keras runs on TensorFlow.

    Args:
        needed_by: The function that exports, as the user typed it.
    """
    if backend.name != "tensorflow":
        raise ValueError(
            f"{needed_by} needs Keras on TensorFlow. Received: "
            f"backend={backend.name!r}. Save the model, and export it in a "
            "process with the environment variable KERAS_BACKEND=tensorflow."
        )


def blamed_layer(model: keras.Model, said: str) -> keras.Layer | None:
    """Return the layer that an error of a converter or a runtime names.

    Args:
        model: The model.
        said: The error message, which contains operation names such as
            `"functional_1/lambda_2_1/Roll"`.
    """
    known = {layer.name: layer for layer in sublayers(model)[1:]}
    for path in OPERATION.findall(said):
        for scope in reversed(path.split("/")):
            for name in (re.sub(r"_\d+$", "", scope), scope):
                if name in known:
                    return known[name]
    return None


@contextlib.contextmanager
def portable(model: keras.Model) -> Iterator[None]:
    """Keep cuDNN and XLA out of functions that are traced inside the block.

    Only one thread at a time can enter, because settings of the model's
    layers are changed here and inside the block.

    Args:
        model: The model that is traced.

    Raises:
        ValueError: If TensorFlow does not accept the name of a layer.
    """
    for layer in sublayers(model):
        if isinstance(layer, keras.layers.InputLayer):
            continue  # opens no scope
        begins = layer is model and layer.name.startswith(OF_INSIDE)
        if begins or not SCOPE.fullmatch(layer.name):
            refuse_name(f"{type(layer).__name__} `{layer.name}`")
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        for layer in sublayers(model):
            for name in ("jit_compile", "use_cudnn"):
                if hasattr(layer, name):
                    stack.callback(setattr, layer, name, getattr(layer, name))
                    setattr(layer, name, False)
        yield


def refuse_name(received: str) -> NoReturn:
    """Raise the `ValueError` for a name that TensorFlow does not accept.

    Args:
        received: The object with this name.
    """
    raise ValueError(
        "Names of exported models and layers must begin with a letter A to Z "
        "or a digit, and may contain `_-./` after it. Received: "
        f"{received}. Build the model with other names, and call "
        "new_model.set_weights(model.get_weights())."
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard standard error output inside the block.

    Converters write there without Python. Therefore, the file descriptor is
    redirected, too, and the output of other threads is lost meanwhile. Only
    one thread at a time can enter. Exceptions keep their messages. If the
    stream or descriptor was closed, it is closed again afterward.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        stack.enter_context(_without_descriptor())
        for name in LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield


@contextlib.contextmanager
def _without_descriptor() -> Iterator[None]:
    """Discard output to file descriptor 2, which may be closed."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()  # there may be none, or a closed one
    try:
        kept = os.dup(2)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        kept = None  # it is closed
    nothing = os.open(os.devnull, os.O_WRONLY)  # which may be 2 then
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        if nothing != 2:
            os.close(nothing)
        if kept is None:
            os.close(2)
        else:
            os.dup2(kept, 2)
            os.close(kept)


def run_program(made: str, name: str, arguments: list, question: str) -> str:
    """Run a program of this folder in a process without this package.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        name: The file name of the program.
        arguments: Its command-line arguments.
        question: Its standard input.

    Returns:
        Its standard output.

    Raises:
        RuntimeError: If it fails.
    """
    # -P: the folder of the program holds files of the names of packages.
    command = [sys.executable, "-P", Path(__file__).with_name(name)]
    done = subprocess.run(
        [*command, *arguments],
        input=question.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(
            f"The {made} was created, but cannot be run: its process ended "
            f"with code {done.returncode}: {said[-800:]}. Nothing was written. "
            "Please report this."
        )
    return done.stdout.decode()
