"""Which cases run every day, and which in a thorough run alone."""

import os
from collections.abc import Callable
from collections.abc import Iterable

import pytest

THOROUGH = pytest.mark.thorough
ON_JAX = os.environ.get("KERAS_BACKEND") == "jax"
SHARP = {  # laws that every variant of a layer or an alignment has every day
    "test_agrees_with_the_paper",
    "test_beams_carry_their_own_states",
    "test_gradients_are_slopes",
    "test_large_inputs_stay_finite",
    "test_no_memory_no_weight",
    "test_nothing_real_nothing_given",
    "test_padding_never_matters",
    "test_steps_are_the_call",
}


def some(
    cases: Iterable, count: int | None = None, on_jax: int | None = None
) -> list:
    """Mark all cases but the first `count` as thorough.

    Args:
        cases: What a test is parametrized by.
        count: How many of them any run has; all by default.
        on_jax: How many a run on JAX has, which compiles each for seconds;
            `count` by default.
    """
    cases = list(cases)
    count = len(cases) if count is None else count
    count = on_jax if ON_JAX and on_jax is not None else count
    return [
        case if i < count else pytest.param(*_values(case), marks=THOROUGH)
        for i, case in enumerate(cases)
    ]


def thorough_on_jax(test: Callable) -> Callable:
    """Mark a test as thorough on JAX, which compiles it for seconds."""
    return THOROUGH(test) if ON_JAX else test


def _values(case):
    return case if isinstance(case, tuple) else (case,)


def mark_variants(items: list) -> None:
    """Mark the laws of a contract that a `variant` has beside the sharp ones.

    What the class tests itself, and what another class of the same layer has
    every day, needs no second run.
    """
    for item in items:
        law = item.function.__module__.startswith("contracts.")
        rare = getattr(item.cls, "variant", False) and law
        if rare and item.originalname not in SHARP:
            item.add_marker(THOROUGH)
