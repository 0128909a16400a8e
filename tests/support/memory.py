"""The memory of a process: what it has, has had, and need not keep."""

import ctypes
import gc
import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def give_back():
    """Free what TensorFlow, Python and malloc keep of what is dead.

    TensorFlow keeps kernels until the session is cleared, and malloc a lot of
    what is free.
    """
    if "keras" in sys.modules:
        sys.modules["keras"].backend.clear_session()
    gc.collect()
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def kilobytes() -> int:
    """Return the kilobytes that this program has in memory, on Linux."""
    return _read("VmRSS")


def most_kilobytes() -> int:
    """Return the most kilobytes that this program has had, on Linux.

    `ru_maxrss` would begin with those of the process that started it.
    """
    return _read("VmHWM")


def _read(name):
    return int(re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text())[1])
