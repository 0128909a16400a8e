"""The progress of a command, on standard error if that is a terminal."""

import sys
import time
from typing import Self

PAUSE = 0.2  # seconds from one line to the next


class Progress:
    """Shows a count on a terminal, and nothing anywhere else.

    Args:
        unit: What is counted.
    """

    def __init__(self, unit: str):
        self.unit = unit
        self._seen = sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()
        self._shown = 0.0
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error):
        if self._seen and self._count:
            self._write()
            print(file=sys.stderr)

    def show(self, count: int):
        """Show how many there are.

        Args:
            count: All of them, from the beginning.
        """
        self._count = count
        if self._seen and time.monotonic() - self._shown > PAUSE:
            self._shown = time.monotonic()
            self._write()

    def _write(self):
        rate = self._count / max(time.monotonic() - self._began, 1e-9)
        text = f"\r{self._count} {self.unit}, {rate:.0f} a second "
        print(text, end="", file=sys.stderr, flush=True)
