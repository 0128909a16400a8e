"""Timing two ways of doing one thing, side by side."""

import statistics
import time
from collections.abc import Callable


def ratio(ours: Callable, theirs: Callable, rounds: int = 15) -> str:
    """Run both in turn, and tell how the times compare.

    The two runs of a round stand side by side, so that a machine that changes
    its speed changes it for both; the median is over the rounds' own ratios.

    Args:
        ours: The work that is measured.
        theirs: What it is measured against.
        rounds: How many times each runs, after two that do not count.

    Returns:
        The median ratio, its quartiles, and both median times.
    """
    times = [], []
    for _ in range(rounds + 2):
        for work, spent in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            work()
            spent.append(time.perf_counter() - start)
    ours, theirs = (spent[2:] for spent in times)
    ratios = [x / y for x, y in zip(ours, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    milliseconds = [1000 * statistics.median(spent) for spent in (ours, theirs)]
    return (
        f"{middle:.2f} (quartiles {low:.2f} to {high:.2f}), "
        f"{milliseconds[0]:.0f} ms against {milliseconds[1]:.0f} ms"
    )
