"""The operations of TensorFlow that text needs, on NumPy arrays.

Names and results are TensorFlow's. Strings are arrays of Python strings; a
byte that is not UTF-8 is half of a surrogate pair, as `surrogateescape` has it.
"""

import unicodedata
from collections import namedtuple
from collections.abc import Callable
from collections.abc import Iterable
from functools import partial
from functools import wraps
from operator import getitem
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import ragged as ragged
from . import strings as strings
from .strings import each
from .strings import string

__version__ = f"unicode {unicodedata.unidata_version}"

int32 = np.dtype("int32")
int64 = np.dtype("int64")
float32 = np.dtype("float32")

maximum = np.maximum
minimum = np.minimum
size = np.size
stack = np.stack
clip_by_value = np.clip
cumsum = np.cumsum
reduce_max = np.max
range = np.arange
reshape = np.reshape
argmax = np.argmax
boolean_mask = getitem
unique = partial(np.unique, return_inverse=True)


class Module:
    """Stands for `tf.Module`, which tracks what a SavedModel needs."""


TensorSpec = namedtuple("TensorSpec", "shape dtype name", defaults=[None])


def function(
    call: Callable, signature: Iterable[TensorSpec] = (), **options
) -> Callable:
    """Return a function that converts its arguments, and traces nothing.

    Args:
        call: The function.
        signature: What the first arguments are converted to.
        **options: Those of `tf.function`, which say how to trace.

    Returns:
        The function.
    """
    signature = tuple(signature)

    @wraps(call)
    def converted(*arguments):
        pairs = zip(arguments, signature, strict=False)
        given = [convert_to_tensor(x, spec.dtype) for x, spec in pairs]
        return call(*given, *arguments[len(signature) :])

    return converted


def convert_to_tensor(value: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """Convert a value to an array.

    Args:
        value: An array, a list or a scalar.
        dtype: The type of its entries. Defaults to `None`, NumPy's choice.

    Returns:
        The array. Strings become Python strings.

    Raises:
        ValueError: If an entry is not a string, and should be one.
    """
    if dtype != string:
        found = np.asarray(value, dtype)
        if found.dtype.kind not in "OSUT":
            return found
    array = value if isinstance(value, np.ndarray) else np.array(value, string)
    return each(_text, array.astype(string, copy=False))


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if isinstance(value, str):
        return str(value)
    raise ValueError(
        f"A tokenizer needs strings. Received: {value!r:.80}. Give a flat "
        "list of strings."
    )


constant = convert_to_tensor


def cast(x, dtype: np.dtype) -> np.ndarray:
    """Change the type of entries."""
    return np.asarray(x).astype(dtype)


def ensure_shape(x, shape: tuple) -> np.ndarray:
    """Return an array: its shape is known anyway."""
    return x


def concat(values, axis: int) -> np.ndarray | ragged.RaggedTensor:
    """Join arrays along an axis, or ragged rows along their second one."""
    if isinstance(values[0], ragged.RaggedTensor):
        return ragged.concat(values)
    return np.concatenate(values, axis)


def gather(params, indices, batch_dims: int = 0) -> np.ndarray:
    """Look up entries; with `batch_dims=1`, each row in its own row."""
    if not batch_dims:
        return np.take(params, indices, axis=0)
    rows = np.arange(len(params)).reshape(-1, *[1] * (np.ndim(indices) - 1))
    return params[rows, indices]


def pad(x, paddings, constant_values=None) -> np.ndarray:
    """Add zeros or empty strings around an array."""
    x = np.asarray(x)
    if constant_values is None:
        constant_values = "" if x.dtype == string else 0
    return np.pad(x, paddings, constant_values=constant_values)


def shape(x, out_type: np.dtype = int32) -> np.ndarray:
    """Return the shape as an array."""
    return np.array(np.shape(x), out_type)


def where(condition, x, y) -> np.ndarray:
    """Choose between two arrays; strings may be single ones."""
    if any(isinstance(v, str) or np.asarray(v).dtype == string for v in (x, y)):
        x, y = (np.asarray(v, string) for v in (x, y))
    return np.where(condition, x, y)


class StaticHashTable:
    """Looks up the values of strings.

    Args:
        initializer: The entries: strings, their values, and the type of
            these.
        default_value: The value of all other strings.
    """

    def __init__(self, initializer: tuple, default_value: int):
        keys, values, self.dtype = initializer
        self.values = dict(zip(keys, values, strict=True))
        self.default = default_value

    def lookup(self, keys) -> np.ndarray:
        """Return the value of each string, in the same shape."""
        values, default = self.values, self.default
        ids = (values.get(key, default) for key in keys.flat)
        return np.fromiter(ids, self.dtype, keys.size).reshape(keys.shape)


def unsorted_segment_min(data, segments, count: int) -> np.ndarray:
    """Return the smallest entry of each segment.

    Args:
        data: Integers `(N,)`.
        segments: The segment of each, `(N,)`, below `count`.
        count: The number of segments.

    Returns:
        `(count,)`.
    """
    least = np.full(count, np.iinfo(data.dtype).max, data.dtype)
    np.minimum.at(least, segments, data)
    return least


lookup = SimpleNamespace(
    KeyValueTensorInitializer=namedtuple("Entries", "keys values value_dtype"),
    StaticHashTable=StaticHashTable,
)
math = SimpleNamespace(unsorted_segment_min=unsorted_segment_min)
