"""Check strings that users pass, in any container."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import NoReturn

import numpy as np

INFINITE = -1  # the cardinality of a `tf.data.Dataset` without end
MISSING = 'Pass text, and "" for missing values.'
REFUSED = (  # would lose values, an order or a mask
    (Mapping, "Pass a list of its values or keys."),
    (set | frozenset, "Pass a list, because results have the same order."),
    (np.ma.MaskedArray, 'Call `filled("")` on it first.'),
)


def as_texts(name: str, strings: Any) -> list[str]:
    """Return a list of Python strings from any container.

    Args:
        name: The argument, as the user typed it.
        strings: A list, an array, a string tensor, a table column, or any
            other ordered iterable of strings; or a finite `tf.data.Dataset`
            of strings or of batches of strings.

    Returns:
        One string per entry, as `as_text` returns it.

    Raises:
        ValueError: As in `strings_of`.
    """
    return [*map(as_text, strings_of(name, strings))]


def as_text(string: str | bytes) -> str:
    """Return a string that can be encoded as UTF-8.

    Args:
        string: A string, or bytes. Invalid UTF-8 bytes become U+FFFD.

    Returns:
        The string. Characters that UTF-8 cannot encode, such as half of a
        surrogate pair, become question marks.
    """
    if isinstance(string, bytes):
        return string.decode("utf-8", errors="replace")
    if string.isascii():
        return str(string)
    return string.encode("utf-8", errors="replace").decode()


def strings_of(name: str, strings: Any, files: bool = False) -> Iterator:
    """Check strings in any container, and yield them.

    Args:
        name: The argument, as the user typed it.
        strings: As in `as_texts`.
        files: Whether `Path` objects are allowed, and iterators are read
            lazily. Defaults to `False`.

    Yields:
        The entries, unchanged.

    Raises:
        ValueError: If `strings` is a single string, a dictionary, a set or a
            masked array, contains anything but strings, or is an infinite
            dataset or one of other values. The message names the first
            invalid entry and the number of others.
    """
    if hasattr(strings, "as_numpy_iterator"):  # a `tf.data.Dataset`
        strings = _read_dataset(name, strings)
    elif not (files and isinstance(strings, Iterator)):
        strings = _read_container(name, strings, files)
    kinds = str | bytes | Path if files else str | bytes
    for i, string in enumerate(strings):
        if not isinstance(string, kinds):
            rest = strings[i + 1 :] if isinstance(strings, list) else ()
            more = sum(not isinstance(x, kinds) for x in rest)
            also = f", and {more} more that are not strings" if more else ""
            nested = isinstance(string, Iterable)
            way_out = "Put strings into one flat list." if nested else MISSING
            _refuse(name, f"{name}[{i}]={string!r:.80}{also}", way_out)
        yield string


def _read_container(name, strings, files):
    received = f"{name}={strings!r:.80}"
    for kinds, way_out in REFUSED:
        if isinstance(strings, kinds):
            _refuse(name, received, way_out)
    if hasattr(strings, "flat_values"):  # a ragged tensor
        _refuse(name, received, "Pass its `flat_values`, or make it flat.")
    if hasattr(strings, "__array__"):  # also a tensor, or a table's column
        try:
            strings = np.asarray(strings)
        except NotImplementedError:  # of a tensor without values
            way_out = "In a graph, call an exported SavedModel."
            _refuse(name, received, way_out)
        if strings.ndim > 1:
            shape = f"{name}.shape={strings.shape}"
            _refuse(name, shape, "Select one column, or make it flat.")
    single = isinstance(strings, str | bytes) or not isinstance(
        strings, Iterable
    )
    if single or getattr(strings, "ndim", 1) == 0:
        path = ", or pass a file as a `pathlib.Path`" if files else ""
        _refuse(name, received, f"Put a single string into a list{path}.")
    return [*strings]


def _refuse(name, received, way_out) -> NoReturn:
    raise ValueError(
        f"`{name}` must be a list of strings. Received: {received}. {way_out}"
    )


def _read_dataset(name, dataset):
    if dataset.cardinality() == INFINITE:
        received = f"{name}={dataset}, which repeats forever"
        _refuse(name, received, "Limit it with `take(n)`.")
    spec = dataset.element_spec
    plain = type(spec).__name__ == "TensorSpec" and spec.dtype == "string"
    if not plain or (spec.shape.rank or 0) > 1:
        way_out = "dataset.map(lambda source, target: source)"
        way_out = f"Select the strings, for example with `{way_out}`."
        _refuse(name, f"{name}={dataset}", way_out)
    return [x for batch in dataset.as_numpy_iterator() for x in np.ravel(batch)]
