"""Timing two sides of one measurement, in turn."""

import statistics
import time
from typing import NamedTuple

from process import Process

IDLE = 0.05  # the part of one CPU that a waiting side may take
PAUSE = 0.05  # seconds in which a side may give back its memory


class Ratio(NamedTuple):
    """How the times of two sides compare.

    Attributes:
        quartiles: Of the rounds' own ratios: lower, median, upper.
        ours: Median of our seconds.
        theirs: Median of theirs.
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
        """Tell it as a quotient of speeds: more is better.

        Args:
            words: How many words one run takes.
        """
        low, middle, high = (1 / x for x in reversed(self.quartiles))
        ours, theirs = (words / x for x in (self.ours, self.theirs))
        return (
            f"{middle:.2f} (quartiles {low:.2f} to {high:.2f}), "
            f"{ours:.0f} words/s against {theirs:.0f}"
        )


def ratio(ours: Process, theirs: Process, rounds: int = 15) -> Ratio:
    """Run both in turn, and tell how the times compare.

    The two runs of a round stand side by side, so that a machine that changes
    its speed changes it for both; the median is over the rounds' own ratios.
    While one runs the other waits, and that it does not compute is checked.

    Args:
        ours: The side that is measured.
        theirs: What it is measured against.
        rounds: How many times each runs, after two that do not count.

    Returns:
        The median ratio, its quartiles, and both median times.
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
