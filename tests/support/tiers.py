"""Which cases run every day, and which in a thorough run alone."""

from collections.abc import Iterable

import pytest

THOROUGH = pytest.mark.thorough


def some(cases: Iterable, count: int) -> list:
    """Mark all cases but the first `count` as thorough.

    Args:
        cases: What a test is parametrized by.
        count: How many of them any run has.
    """
    return [
        case if i < count else pytest.param(*_values(case), marks=THOROUGH)
        for i, case in enumerate(cases)
    ]


def _values(case):
    return case if isinstance(case, tuple) else (case,)
