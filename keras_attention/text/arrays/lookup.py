"""Tables of `tf.lookup`, as dictionaries."""

from typing import NamedTuple

import numpy as np


class KeyValueTensorInitializer(NamedTuple):
    """The entries of a table.

    Attributes:
        keys: The strings.
        values: The value of each.
        value_dtype: The type of values.
    """

    keys: list[str]
    values: list[int]
    value_dtype: str


class StaticHashTable:
    """Looks up the values of strings.

    Args:
        initializer: The entries.
        default_value: The value of all other strings.
    """

    def __init__(
        self, initializer: KeyValueTensorInitializer, default_value: int
    ):
        keys, values, self.dtype = initializer
        self.values = dict(zip(keys, values, strict=True))
        self.default = default_value

    def lookup(self, keys) -> np.ndarray:
        """Return the value of each string, in the same shape."""
        values, default = self.values, self.default
        found = (values.get(key, default) for key in keys.flat)
        return np.fromiter(found, self.dtype, keys.size).reshape(keys.shape)
