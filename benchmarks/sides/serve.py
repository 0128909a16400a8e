"""The child process of a measurement, which computes only on command.

It needs only NumPy, since it also runs in the environment of TFA.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def serve(make: Callable):
    """Answer each line of standard input by one line, until its end.

    The lines are `run` (the answer is the seconds that it took, and those of
    all its threads on a CPU), `memory` (the answer is the bytes that one run
    needs more than before it), and `numbers FILE` (the answer comes when the
    file is written). Numbers behind `run` are given to it.

    Args:
        make: Function from sizes, arrays and mode to two functions: `run`,
            which does the work once and returns when it is done, and
            `numbers`, which returns the arrays to compare, by name.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries goes to standard error
    job = json.loads(sys.argv[1])
    with np.load(job["arrays"]) as stored:
        arrays = dict(stored)
    run, numbers = make(job["work"], arrays, job["mode"])
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        word, *given = line.split()
        if word == "run":
            answer = "{} {}".format(*seconds(run, *map(int, given)))
        elif word == "memory":
            answer = extra_memory(run)
        else:
            found = {name: np.asarray(x) for name, x in numbers().items()}
            np.savez(given[0], **found)
            answer = "written"
        print(answer, file=answers, flush=True)


def seconds(run: Callable, *given: int) -> tuple[float, float]:
    """Run once.

    Args:
        run: The work.
        *given: Its arguments.

    Returns:
        The seconds that it took, and those that all threads were on a CPU.
    """
    start, busy = time.perf_counter(), time.process_time()
    run(*given)
    return time.perf_counter() - start, time.process_time() - busy


def extra_memory(run: Callable) -> int:
    """Return how many bytes more than before it one run needs at its peak.

    First freed memory is returned to the system, since reusing it would not
    be counted, and the kernel's record of the peak is reset. It needs Linux
    with glibc.

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
