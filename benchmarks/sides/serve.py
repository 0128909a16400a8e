"""The child's end of a measurement: it computes only when it is told to.

It needs nothing but NumPy, since it also runs in the peer's environment.
"""

import ctypes
import json
import os
import sys
import time
from pathlib import Path

import numpy as np


def serve(make):
    """Answer the parent, a line for a line, until it hangs up.

    The lines are `run` (answered by the seconds that it took), `memory` (by
    the bytes that one run needs beside what stands there before) and
    `numbers` with a file (answered when the numbers stand in it).

    Args:
        make: A function from sizes, arrays and mode to two functions: `run`,
            which does the work once and returns when it is done, and
            `numbers`, which returns the numbers to be compared, by name.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    job = json.loads(sys.argv[1])
    with np.load(job["arrays"]) as stored:
        arrays = dict(stored)
    run, numbers = make(job["work"], arrays, job["mode"])
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        word, *files = line.split()
        if word == "run":
            answer = seconds(run)
        elif word == "memory":
            answer = extra_memory(run)
        else:
            found = {name: np.asarray(x) for name, x in numbers().items()}
            np.savez(files[0], **found)
            answer = "written"
        print(answer, file=answers, flush=True)


def seconds(run) -> float:
    """Run once, and tell how long it took."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def extra_memory(run) -> int:
    """Tell how many bytes one run needs at its peak, beside those before.

    Free memory goes back to the system first, so that it cannot be used
    unseen, and the kernel forgets the peak so far. Linux with glibc.

    Args:
        run: The work. It should have run before.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    found = run()  # held until the peak is read
    peak = _status("VmHWM")
    del found
    return peak - before


def _status(name) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise SystemExit(f"/proc/self/status has no {name}: measure on Linux.")
