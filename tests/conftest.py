"""What every test runs under: its backend, and float64 where JAX hides it."""

import os

import pytest

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
