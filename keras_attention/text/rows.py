"""Rows of different lengths, one after another in one array."""

import numpy as np


class Rows:
    """Rows of different lengths, which share one array.

    A row is a view, so a list of them takes no memory for what is in them.
    The array may be a file that is mapped into memory.

    Args:
        values: `(S,)`: all rows, one after another.
        offsets: `(N + 1,)`: 0, and where each row ends.
    """

    def __init__(self, values: np.ndarray, offsets: np.ndarray):
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self, rows: slice = slice(None)) -> np.ndarray:
        """Return the length of some rows.

        Args:
            rows: Which of them. Defaults to all.

        Returns:
            `(n,)` int64.
        """
        return self.offsets[1:][rows] - self.offsets[:-1][rows]
