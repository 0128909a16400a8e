"""What every test runs under: its backend, and float64 where JAX hides it."""

import gc
import itertools
import os
import sys
from pathlib import Path

import pytest

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
finished = itertools.count(1)

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
if BACKEND == "jax":
    os.environ.setdefault("JAX_ENABLE_X64", "1")  # before JAX is imported
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # compile fast


def pytest_collection_modifyitems(items):
    """Leave out what needs TensorFlow as its backend on any other."""
    if BACKEND == "tensorflow":
        return
    reason = f"needs TensorFlow as the backend, not {BACKEND}"
    for item in items:
        if item.get_closest_marker("tensorflow"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_teardown():
    """Let JAX forget what it compiled, before there are too many programs.

    Each holds memory maps, of which Linux gives a process 65,530: without
    them the next compilation dies of a segmentation fault.
    """
    if BACKEND == "jax" and "jax" in sys.modules and next(finished) % 10 == 0:
        if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
            gc.collect()
            sys.modules["jax"].clear_caches()
