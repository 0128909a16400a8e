"""Timing of two sides, run alternately."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

from process import Process

IDLE = 0.05  # largest share of one CPU that a waiting side may use
PAUSE = 0.05  # seconds for a side to free its memory


class Ratio(NamedTuple):
    """The ratio of the times of two sides.

    Attributes:
        quartiles: Quartiles of the ratios of all rounds: lower, median,
            upper.
        ours: Median time of our side, in seconds.
        theirs: Median time of the other side, in seconds.
    """

    quartiles: tuple
    ours: float
    theirs: float

    def __str__(self):
        low, middle, high = self.quartiles
        return (
            f"{middle:.2f} (quartiles {low:.2f} to {high:.2f}), "
            f"{1000 * self.ours:.1f} ms against {1000 * self.theirs:.1f} ms"
        )

    def speeds(self, words: int) -> str:
        """Format it as a ratio of speeds: more is better.

        Args:
            words: Number of words of one run.
        """
        low, middle, high = (1 / x for x in reversed(self.quartiles))
        ours, theirs = (words / x for x in (self.ours, self.theirs))
        return (
            f"{middle:.2f} (quartiles {low:.2f} to {high:.2f}), "
            f"{ours:.0f} words/s against {theirs:.0f}"
        )


class CpuClock:
    """Runs a side, and counts CPU seconds of all threads instead of time.

    They change little on a machine that is busy with other work. The system
    counts hundredths of a second, so short work is done several times.

    Args:
        side: The side.
        least: CPU seconds to do the work for. Defaults to `0.5`.
    """

    def __init__(self, side: Process, least: float = 0.5):
        self.name, self.cpu_seconds = side.name, side.cpu_seconds
        self._side, self._least = side, least

    def run(self) -> float:
        """Return the CPU seconds of doing the work once, a mean."""
        before, runs, used = self.cpu_seconds(), 0, 0.0
        while used < self._least:
            self._side.run()
            used, runs = self.cpu_seconds() - before, runs + 1
        return used / runs


class Here:
    """A side that is a function of this process, with its CPU seconds.

    Args:
        function: What is measured. It takes nothing.
    """

    name = "this process"

    def __init__(self, function: Callable):
        self._function = function

    def run(self) -> float:
        """Call it, and return the CPU seconds of all threads."""
        start = time.process_time()
        self._function()
        return time.process_time() - start

    def cpu_seconds(self) -> float:
        """Return 0: it computes nothing while the other side runs."""
        return 0.0


CLOCKS = {"wall": lambda side: side, "cpu": CpuClock}


def ratio(
    ours: Process | Here, theirs: Process | Here, rounds: int = 15
) -> Ratio:
    """Run two sides alternately, and compare their times.

    Each round runs both sides, one after the other, so a change of the
    machine's speed affects both; the median is over the ratios of the rounds.
    While one side runs, the other must not use the CPU, which is checked.

    Args:
        ours: The side that is measured.
        theirs: The side that it is measured against.
        rounds: Number of rounds, after two that are not timed. Defaults to
            `15`.

    Returns:
        The quartiles of the ratio, and both median times.
    """
    sides = ours, theirs
    for side in (*sides, *sides):
        side.run()
    times, stolen = ([], []), [0.0, 0.0]
    for _ in range(rounds):
        for i, side in enumerate(sides):
            waiting = sides[1 - i]
            time.sleep(PAUSE)
            before = waiting.cpu_seconds()
            times[i].append(side.run())
            stolen[1 - i] += waiting.cpu_seconds() - before
    for i, side in enumerate(sides):
        share = stolen[i] / sum(times[1 - i])
        assert share <= IDLE, (
            f"{side.name} computes while it waits: {share:.0%}"
        )
    ratios = [x / y for x, y in zip(*times, strict=True)]
    middles = map(statistics.median, times)
    return Ratio(tuple(statistics.quantiles(ratios, n=4)), *middles)
