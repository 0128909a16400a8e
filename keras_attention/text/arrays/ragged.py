"""Rows of different lengths, as `tf.RaggedTensor` has them."""

from collections.abc import Callable
from typing import Self

import numpy as np


class RaggedTensor:
    """Rows of different lengths, one after another.

    Args:
        flat_values: The entries of all rows, `(N,)`.
        lengths: The length of each row, `(B,)`, which sum to `N`.
    """

    def __init__(self, flat_values: np.ndarray, lengths: np.ndarray):
        self.flat_values = flat_values
        self.lengths = np.asarray(lengths, "int64")

    def __ne__(self, value):
        return self.with_flat_values(self.flat_values != value)

    def row_lengths(self) -> np.ndarray:
        """Return the length of each row, `(B,)` int64."""
        return self.lengths

    def row_ids(self) -> np.ndarray:
        """Return the row of each entry, `(N,)`."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def with_flat_values(self, flat_values: np.ndarray) -> Self:
        """Return rows of the same lengths with other entries."""
        return type(self)(flat_values, self.lengths)

    def to_tensor(self, default_value=None, shape=None) -> np.ndarray:
        """Pad all rows to one width, and cut those that are longer.

        Args:
            default_value: What to pad with. Defaults to `None`: 0, or the
                empty string.
            shape: The number of rows and the width; the first is ignored.
                Defaults to `None`: the longest row.

        Returns:
            `(B, T)`.
        """
        longest = self.lengths.max(initial=0)
        width = int(longest if shape is None else shape[1])
        values = self.flat_values
        if default_value is None:
            default_value = "" if values.dtype == object else 0
        found = np.full((len(self.lengths), width), default_value, values.dtype)
        kept = np.minimum(self.lengths, width)
        found[np.arange(width) < kept[:, None]] = values[
            _places(self.lengths) < width
        ]
        return found


def constant(rows: list[list], dtype: np.dtype) -> RaggedTensor:
    """Make ragged rows of lists.

    Args:
        rows: The rows.
        dtype: The type of their entries.

    Returns:
        The rows.
    """
    lengths = [len(row) for row in rows]
    values = (value for row in rows for value in row)
    return RaggedTensor(np.fromiter(values, dtype, sum(lengths)), lengths)


def concat(rows: list[RaggedTensor]) -> RaggedTensor:
    """Join the rows of several, each behind the same row of those before."""
    order = np.argsort(
        np.concatenate([x.row_ids() for x in rows]), kind="stable"
    )
    values = np.concatenate([x.flat_values for x in rows])[order]
    return RaggedTensor(values, sum(x.lengths for x in rows))


def map_flat_values(call: Callable, rows: RaggedTensor) -> RaggedTensor:
    """Call a function with the entries of all rows at once."""
    return rows.with_flat_values(call(rows.flat_values))


def boolean_mask(data, mask) -> RaggedTensor:
    """Keep some entries of each row.

    Args:
        data: Rows, an array `(B, T)` or ragged.
        mask: Booleans of the same shape, likewise.

    Returns:
        What is left of the rows.
    """
    if isinstance(data, RaggedTensor):
        kept = mask.flat_values
        rows = data.row_ids()[kept]
        lengths = np.bincount(rows, minlength=len(data.lengths))
        return RaggedTensor(data.flat_values[kept], lengths)
    return RaggedTensor(data[mask], np.count_nonzero(mask, axis=1))


def _places(lengths):
    """Return the place of each entry in its row, `(N,)`."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) - np.repeat(starts, lengths)
