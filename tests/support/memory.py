"""The memory that a process has had."""

import re
from pathlib import Path

STATUS = Path("/proc/self/status")


def most_kilobytes() -> int:
    """Return the most kilobytes that this program has had, on Linux.

    `ru_maxrss` would begin with those of the process that started it.
    """
    return int(re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())[1])
