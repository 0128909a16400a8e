"""A plugin of pytest: what a run costs, in its last lines."""

import os

import pytest
from memory import STATUS
from memory import most_kilobytes

workers = []  # CPU seconds and kilobytes of each


def cost(children: bool = True) -> tuple:
    """Return CPU seconds, and the most kilobytes at a time, of this process.

    Args:
        children: Whether the seconds are also those of processes that it
            started, and that have ended.
    """
    seconds = sum(os.times()[: 4 if children else 2])
    return seconds, most_kilobytes() if STATUS.exists() else 0


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cost"] = cost()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    workers.append(getattr(node, "workeroutput", {}).get("cost", (0, 0)))


def pytest_terminal_summary(terminalreporter):
    seconds, kilobytes = zip(*workers, cost(not workers), strict=True)
    terminalreporter.write_line(
        f"{sum(seconds):.0f} CPU seconds in all, at most "
        f"{max(kilobytes) / 1e6:.1f} GB in a process"
    )
