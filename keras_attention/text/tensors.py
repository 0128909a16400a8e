"""Tensors of TensorFlow, which are read by another form of a tokenizer.

Whoever has such a tensor has TensorFlow: its forms are imported when the first
one comes, and nothing here imports it before.
"""

import sys
from typing import Any

from keras_attention.extras import require


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of TensorFlow.

    Args:
        value: Anything.
    """
    package = sys.modules.get("tensorflow")
    return package is not None and package.is_tensor(value)


def form_of(tokenizer):
    """Return the form of a tokenizer that reads and gives tensors.

    Args:
        tokenizer: The tokenizer.

    Returns:
        A `keras_attention.export.TensorTokenizer`.
    """
    by = "A tokenizer of tensors"
    room = require("keras_attention.export", "tensorflow", by)
    return room.TensorTokenizer(tokenizer)
