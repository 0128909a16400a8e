"""Fast paths: found by name, and never missed where there is none."""

import importlib
from collections.abc import Callable

import keras


def fast_path(name: str) -> Callable | None:
    """Find what the backend in use does better than `keras.ops` alone.

    Args:
        name: Of a function in the backend's module in
            `keras_attention/backend/`.

    Returns:
        The function, or `None`: then the plain way is the only one.
    """
    module = f"keras_attention.backend.{keras.backend.backend()}"
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return getattr(found, name, None)
