"""interleave.py: medians of pairs, and that nobody computes while he waits."""

import pytest
from interleave import ratio


class Clock:
    """Two sides that take the times they are given."""

    def __init__(self, name, times, log):
        self.name, self.log = name, log
        self.times, self.cpu, self.steal = iter(times), 0.0, 0.0

    def run(self):
        self.log.append(self.name)
        return next(self.times)

    def cpu_seconds(self):
        self.cpu += self.steal
        return self.cpu


def sides(log):
    ours = Clock("ours", [9, 9, 1, 2, 3], log)  # two do not count
    return ours, Clock("theirs", [9, 9, 2, 4, 12], log)


def test_the_median_of_the_pairs_counts():
    log = []
    found = ratio(*sides(log), rounds=3)
    assert found.quartiles[1] == 0.5
    assert (found.ours, found.theirs) == (2, 4)
    assert log == ["ours", "theirs"] * 5
    assert "0.50" in str(found)
    assert "2000.0 ms against 4000.0 ms" in str(found)


def test_a_side_that_computes_while_it_waits_is_named():
    ours, theirs = sides([])
    theirs.steal = 1.0
    with pytest.raises(AssertionError, match="theirs computes while it waits"):
        ratio(ours, theirs, rounds=3)
