"""Sentences of a user, in any container, as a list of bytes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf


def as_bytes(name: str, strings: Any) -> list[bytes]:
    """List strings as bytes, whatever container holds them.

    Args:
        name: The argument, as the user typed it.
        strings: A list, an array, a string tensor, or any other iterable of
            strings; or a finite `tf.data.Dataset` of strings or of batches of
            them.

    Returns:
        One entry for each string. Characters that UTF-8 cannot encode, such
        as half of a surrogate pair, become question marks.

    Raises:
        ValueError: If `strings` is a single string, holds anything but
            strings, or is a dataset that never ends.
    """
    if isinstance(strings, str | bytes) or not isinstance(strings, Iterable):
        raise ValueError(
            f"`{name}` must be a list of strings. Received: "
            f"{name}={strings!r}. Put a single one into a list."
        )
    if isinstance(strings, tf.data.Dataset):
        if strings.cardinality() == tf.data.INFINITE_CARDINALITY:
            raise ValueError(
                f"`{name}` must come to an end. Received: {name}={strings}, "
                "which repeats forever. Take a part of it, by `take(n)`."
            )
        strings = [
            x for batch in strings.as_numpy_iterator() for x in np.ravel(batch)
        ]
    elif hasattr(strings, "numpy"):
        strings = strings.numpy()
    listed = [*strings]
    for i, string in enumerate(listed):
        if not isinstance(string, str | bytes):
            raise ValueError(
                f"`{name}` must be a list of strings. Received: "
                f"{name}[{i}]={string!r}. Put strings into one flat list."
            )
    return [
        s.encode("utf-8", errors="replace") if isinstance(s, str) else bytes(s)
        for s in listed
    ]
