"""Operations on arrays, under the names that TensorFlow gives them."""

import unicodedata
from collections.abc import Callable
from collections.abc import Iterable
from functools import wraps
from types import SimpleNamespace
from typing import Any
from typing import NamedTuple

import numpy as np

__version__ = f"unicode {unicodedata.unidata_version}"

string = np.dtype(object)
int32 = np.dtype("int32")
int64 = np.dtype("int64")
float32 = np.dtype("float32")

maximum = np.maximum
minimum = np.minimum
size = np.size
stack = np.stack
clip_by_value = np.clip
cumsum = np.cumsum
reshape = np.reshape


class Module:
    """Stands for `tf.Module`, which tracks what a SavedModel needs."""


class TensorSpec(NamedTuple):
    """Describes an argument of a function.

    Attributes:
        shape: Its shape, which is not checked.
        dtype: The type that it is converted to.
        name: Its name.
    """

    shape: tuple
    dtype: np.dtype
    name: str | None = None


autograph = SimpleNamespace(
    experimental=SimpleNamespace(do_not_convert=lambda function: function)
)


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
        count = len(signature)
        pairs = zip(arguments, signature, strict=False)
        given = [convert_to_tensor(x, spec.dtype) for x, spec in pairs]
        return call(*given, *arguments[count:])

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


def each(call: Callable, array: np.ndarray) -> np.ndarray:
    """Call a function for each string of an array.

    Args:
        call: The function, from a string to a string.
        array: The strings.

    Returns:
        The results, in an array of the same shape.
    """
    found = np.fromiter(map(call, array.flat), string, array.size)
    return found.reshape(array.shape)


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if isinstance(value, str):
        return str(value)
    raise ValueError(
        f"A tokenizer needs strings. Received: {value!r:.80}. Give a flat "
        "list of strings."
    )


def boolean_mask(x, mask) -> np.ndarray:
    """Keep some entries."""
    return x[mask]


def constant(
    value: Any, dtype: np.dtype | None = None, shape: tuple | None = None
) -> np.ndarray:
    """As `convert_to_tensor`, to an array of a shape."""
    found = convert_to_tensor(value, dtype)
    return found if shape is None else found.reshape(shape)


def cast(x, dtype: np.dtype) -> np.ndarray:
    """Change the type of entries."""
    return np.asarray(x).astype(dtype)


def concat(values, axis: int) -> np.ndarray:
    """Join arrays."""
    return np.concatenate(values, axis)


def ensure_shape(x, shape: tuple) -> np.ndarray:
    """Return an array: its shape is known anyway."""
    return x


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


def range(limit) -> np.ndarray:
    """Count from 0."""
    return np.arange(limit)


def reduce_max(x):
    """Return the largest entry."""
    return np.max(x)


def shape(x, out_type: np.dtype = int32) -> np.ndarray:
    """Return the shape as an array."""
    return np.array(np.shape(x), out_type)


def unique(x) -> tuple[np.ndarray, np.ndarray]:
    """Return different entries, and which of them each entry is."""
    return np.unique(x, return_inverse=True)


def where(condition, x, y) -> np.ndarray:
    """Choose between two arrays; strings may be single ones."""
    if any(isinstance(v, str) or np.asarray(v).dtype == string for v in (x, y)):
        x, y = (np.asarray(v, string) for v in (x, y))
    return np.where(condition, x, y)
