"""Look-up of what the current backend has, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from keras_attention import backend


def fast_path(name: str, default: Any = None) -> Any:
    """Return what the current backend has by a name, or a default.

    Args:
        name: Name of a function or a constant in the backend's file in
            `keras_attention/backend/`.
        default: What takes its place, on `keras.ops` alone. Defaults to
            `None`.

    Returns:
        The function or the constant; the default if the backend has none of
        that name, or no file.
    """
    # A package without its files has no fast path, and nothing needs one.
    return getattr(getattr(backend, "current", None), name, default)


def as_written(function: Callable) -> Callable:
    """Wrap a function so that a graph is traced from it as it is written.

    In a `tf.function`, AutoGraph would first rewrite it and all that it calls,
    for control flow that it does not have. That takes several times as long as
    the tracing.
    """
    return fast_path("as_written", lambda itself: itself)(function)


def counted_alone(function: Callable) -> Callable:
    """Wrap one of many functions that have the same code.

    TensorFlow counts how often code is traced, and warns of functions that
    are traced once each, such as those of many translators or searches, as if
    one were traced many times. What has no code is counted for itself.
    """
    return partial(function)


def is_traced(x) -> bool:
    """Return whether `x` may be a tensor of a graph, which has no values."""
    return fast_path("is_traced", lambda _: True)(x)
