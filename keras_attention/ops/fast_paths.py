"""Look-up of a backend's fast paths by name."""

import importlib
from collections.abc import Callable

import keras


def fast_path(name: str) -> Callable | None:
    """Return a function of the current backend, if it has one of that name.

    Args:
        name: Name of a function in the backend's module in
            `keras_attention/backend/`.

    Returns:
        The function, or `None`: the caller then uses `keras.ops` alone.
    """
    module = f"keras_attention.backend.{keras.backend.backend()}"
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return getattr(found, name, None)


def as_written(function: Callable) -> Callable:
    """Wrap a function so that a graph is traced from it as it is written.

    In a `tf.function`, AutoGraph would first rewrite it and all that it calls,
    for control flow that it does not have. That takes several times as long as
    the tracing.
    """
    keep = fast_path("as_written")
    return function if keep is None else keep(function)
