"""A plugin of pytest: what a run costs, in its last lines.

With `--durations=40` also which 40 tests took most CPU seconds, and which
raised the memory of a process most.
"""

import itertools
import os
from collections.abc import Iterable

import pytest
from memory import STATUS
from memory import most_kilobytes

workers = []  # CPU seconds, kilobytes, and the costs of the tests of each
costs = []  # CPU seconds, kilobytes that the most ever rose by, and the test


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
    seconds, most = cost()
    result = yield
    later, more = cost()
    costs.append([later - seconds, more - most, item.nodeid])
    return result


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cost"] = (*cost(), costs)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    none = 0, 0, []
    workers.append(getattr(node, "workeroutput", {}).get("cost", none))


def pytest_terminal_summary(terminalreporter):
    own = *cost(not workers), costs
    seconds, kilobytes, found = zip(*workers, own, strict=True)
    shown = terminalreporter.config.getoption("durations")
    if shown is not None:
        found = list(itertools.chain(*found))
        report = terminalreporter.write_line
        terminalreporter.section("most CPU seconds")
        for each, _, test in largest(found, 0)[: shown or None]:
            report(f"{each:.2f} s {test}")
        terminalreporter.section("largest rises of a process's memory")
        for _, rise, test in largest(found, 1)[: shown or None]:
            report(f"{rise / 1e3:.0f} MB {test}")
    terminalreporter.write_line(
        f"{sum(seconds):.0f} CPU seconds in all, at most "
        f"{max(kilobytes) / 1e6:.1f} GB in a process"
    )


def largest(found: Iterable, column: int) -> list:
    """Return costs of tests, those with the largest of a column first."""
    return sorted(found, key=lambda x: -x[column])
