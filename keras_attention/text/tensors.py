"""Find the form of a tokenizer that reads TensorFlow tensors.

A caller who has such a tensor has imported TensorFlow. The classes that read
tensors are in a higher layer of the package: the package registers where, and
they are imported when the first tensor arrives.
"""

import sys
from collections.abc import Callable
from typing import Any

_finders: list[Callable[[], type]] = []


def is_tensor(value: Any) -> bool:
    """Return whether a value is a TensorFlow tensor.

    Args:
        value: Any object.
    """
    package = sys.modules.get("tensorflow")
    return package is not None and package.is_tensor(value)


def find_forms_by(find: Callable[[], type]):
    """Register how to find the class whose objects read tensors.

    Args:
        find: Function that returns the class, a `TensorTokenizer`.
    """
    _finders[:] = [find]


def form_of(tokenizer):
    """Return the form of a tokenizer that reads and returns tensors.

    Args:
        tokenizer: The tokenizer.

    Returns:
        A `keras_attention.export.TensorTokenizer`.
    """
    (find,) = _finders
    return find()(tokenizer)
