"""A plugin of pytest: what a run costs, in its last lines.

With `--durations` also which tests needed most memory.
"""

import itertools
import os
from collections.abc import Iterable

import pytest
from memory import STATUS
from memory import most_kilobytes

workers = []  # CPU seconds, kilobytes and rises of each
rises = []  # how many kilobytes the most ever rose by, and in which test
SHOWN = 10


def cost(children: bool = True) -> tuple:
    """Return CPU seconds, and the most kilobytes at a time, of this process.

    Args:
        children: Whether the seconds are also those of processes that it
            started, and that have ended.
    """
    seconds = sum(os.times()[: 4 if children else 2])
    return seconds, _most()


def _most():
    return most_kilobytes() if STATUS.exists() else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = _most()
    result = yield
    rises.append([_most() - before, item.nodeid])
    return result


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cost"] = (*cost(), largest(rises))


def largest(rises: Iterable) -> list:
    """Return the largest rises, the largest first."""
    return sorted(rises, reverse=True)[:SHOWN]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    none = 0, 0, []
    workers.append(getattr(node, "workeroutput", {}).get("cost", none))


def pytest_terminal_summary(terminalreporter):
    own = *cost(not workers), rises
    seconds, kilobytes, found = zip(*workers, own, strict=True)
    if terminalreporter.config.getoption("durations"):
        terminalreporter.section(f"{SHOWN} largest rises of a process's memory")
        for rise, test in largest(itertools.chain(*found)):
            terminalreporter.write_line(f"{rise / 1e3:.0f} MB {test}")
    terminalreporter.write_line(
        f"{sum(seconds):.0f} CPU seconds in all, at most "
        f"{max(kilobytes) / 1e6:.1f} GB in a process"
    )
