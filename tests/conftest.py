"""What every test runs under: its backend, fast compilers, bounded memory."""

import contextlib
import gc
import itertools
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import costs
import pytest
import tiers
from memory import STATUS
from memory import give_back
from memory import kilobytes

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
ROOM = 200_000  # kilobytes to fill before memory is given back
finished = itertools.count(1)
kept = SimpleNamespace(kilobytes=0)  # after it was given back

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
# A pass of tf2onnx that fails is an error, and needs no copy of its graph.
os.environ.setdefault("TF2ONNX_CATCH_ERRORS", "FALSE")
# Tiny sums are not divided, and threads that wait for their part cost time,
# on torch more than the tests themselves.
for name in ("OMP_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP"):
    os.environ.setdefault(f"{name}_THREADS", "1")
# What many threads allocate comes back to the others, in workers that begin.
os.environ.setdefault("MALLOC_ARENA_MAX", "2")
if BACKEND == "jax":  # all of this before JAX is imported
    # Tiny models run for a moment: XLA should spend no time on good code.
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 "
        "--xla_llvm_disable_expensive_passes=true",
    )
    os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=2"
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        # Workers find the folder of the process that starts them.
        cache = tempfile.TemporaryDirectory(prefix="jax_cache_")
        os.environ["JAX_COMPILATION_CACHE_DIR"] = cache.name
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def pytest_addoption(parser):
    parser.addoption(
        "--all",
        action="store_true",
        help="Run the slow and the repository tier as well.",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="Run all tiers.",
    )
    parser.addoption(
        "--on",
        choices=tiers.COLUMNS,
        default=BACKEND,
        help="The column of tests/tiers.txt; the backend by default.",
    )
    parser.addoption(
        "--job", help="Run the rooms of one job alone; see tests/tiers.txt."
    )


def pytest_configure(config):
    """Give TensorFlow two devices, before its first operation."""
    config.pluginmanager.register(costs)
    works = hasattr(config, "workerinput") or not config.getvalue(
        "numprocesses"
    )
    if BACKEND == "tensorflow" and works:
        import tensorflow as tf

        (processor,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            processor, 2 * [tf.config.LogicalDeviceConfiguration()]
        )


def pytest_ignore_collect(collection_path, config):
    """Import no file of which no test runs."""
    return tiers.run(config).is_idle(collection_path) or None


def pytest_collection_modifyitems(config, items):
    """Leave out what was not asked for."""
    tiers.mark_variants(items)
    parts = {True: [], False: []}
    for item in items:
        parts[tiers.run(config).takes(item)].append(item)
    config.hook.pytest_deselected(items=parts[False])
    items[:] = parts[True]


def pytest_terminal_summary(terminalreporter, config):
    """Say what was left out because a package is missing."""
    if text := tiers.run(config).report():
        terminalreporter.write_line(text)


def pytest_collection_finish():
    """Spare the garbage collector what the imports made, which stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def give_memory_back():
    """Free what the tests of a few files leave, as it takes a second."""
    yield
    if not STATUS.exists():
        give_back()
    elif kilobytes() - kept.kilobytes > ROOM:
        give_back()
        kept.kilobytes = kilobytes()


@pytest.fixture
def without_graphs(request):
    """Run what TensorFlow would trace first, for longer than the test runs.

    A test of a file that uses it has graphs by the mark `graphs`.
    """
    import ready

    graphs = request.node.get_closest_marker("graphs")
    with contextlib.nullcontext() if graphs else ready.without_graphs():
        yield


@pytest.fixture(scope="module")
def without_graphs_of_its_own():
    """The same for all of a file, also what its fixtures run.

    What is exported is traced all the same, and not what it is compared with.
    """
    import ready

    with ready.without_graphs():
        yield


def pytest_runtest_teardown():
    """Let JAX forget what it compiled, before there are too many programs.

    Each holds memory maps, of which Linux gives a process 65,530: without
    them the next compilation dies of a segmentation fault. What is compiled
    again comes from the cache in the folder.
    """
    if BACKEND == "jax" and "jax" in sys.modules and next(finished) % 10 == 0:
        if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
            gc.collect()
            sys.modules["jax"].clear_caches()
