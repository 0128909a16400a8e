"""Tensors of TensorFlow, which are read by another form of a tokenizer.

Whoever has such a tensor has TensorFlow. Its forms stand above this room: the
package says where, and they are imported when the first tensor comes.
"""

import sys
from collections.abc import Callable
from typing import Any

_finders: list[Callable[[], type]] = []


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of TensorFlow.

    Args:
        value: Anything.
    """
    package = sys.modules.get("tensorflow")
    return package is not None and package.is_tensor(value)


def find_forms_by(find: Callable[[], type]):
    """Say how the class is found whose objects read tensors.

    Args:
        find: Function that returns the class, a `TensorTokenizer`.
    """
    _finders[:] = [find]


def form_of(tokenizer):
    """Return the form of a tokenizer that reads and gives tensors.

    Args:
        tokenizer: The tokenizer.

    Returns:
        A `keras_attention.export.TensorTokenizer`.
    """
    (find,) = _finders
    return find()(tokenizer)
