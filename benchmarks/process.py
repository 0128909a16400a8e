"""A side of a measurement: a process that computes only when it is told to."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# A pool that waits by spinning would take the CPU from the other side.
QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
    "PYTHONWARNINGS": "ignore",
}
# With oneDNN TensorFlow keeps the memory that it frees, and what a step needs
# of it cannot be seen. Matrix products are Eigen's, with or without.
RETURN_MEMORY = {"TF_ENABLE_ONEDNN_OPTS": "0"}


class Process:
    """Runs a module of `sides` in a process of its own.

    Args:
        name: What to call it when it is printed.
        module: The module, such as `"decoder_ours"`.
        work: Its sizes, a `NamedTuple` of `works.py`.
        arrays: The file of its weights and data, `.npz`.
        mode: `"xla"`, or `"default"`.
        python: The Python to run it by. Defaults to this one.
        **environment: More variables of its environment.
    """

    def __init__(
        self,
        name: str,
        module: str,
        work,
        arrays: Path,
        mode: str = "default",
        python: str | Path = sys.executable,
        **environment: str,
    ):
        self.name = name
        job = {"work": work._asdict(), "arrays": str(arrays), "mode": mode}
        paths = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        variables = {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "KERAS_BACKEND": "tensorflow",
        }
        self._child = subprocess.Popen(
            [python, "-m", f"sides.{module}", json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | QUIET | variables | environment,
        )
        self._answer()

    def _answer(self) -> str:
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} has stopped; its error stands above")
        return line.strip()

    def _ask(self, line: str) -> str:
        print(line, file=self._child.stdin, flush=True)
        return self._answer()

    def run(self) -> float:
        """Do the work once; tell the seconds."""
        return float(self._ask("run"))

    def memory(self) -> int:
        """Tell the bytes that the work needs at its peak.

        The process should have been started with `RETURN_MEMORY`.
        """
        self.run()
        return int(statistics.median(int(self._ask("memory")) for _ in "123"))

    def numbers(self) -> dict:
        """Tell the numbers that are to be compared, by name."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "numbers.npz"
            self._ask(f"numbers {file}")
            with np.load(file) as stored:
                return dict(stored)

    def cpu_seconds(self) -> float:
        """Tell the CPU time that the process has used so far. Linux."""
        stat = Path(f"/proc/{self._child.pid}/stat").read_text()
        ticks = stat.rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()


@contextlib.contextmanager
def stored(arrays: dict):
    """Keep arrays in a file for as long as sides may read them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        yield file


def compare(ours: Process, theirs: Process, tolerance: float | dict) -> dict:
    """Check that two sides compute the same numbers, before any are timed.

    Args:
        ours: The one side.
        theirs: The other.
        tolerance: How far two arrays may lie apart, in parts of the largest
            absolute value of either; or one such number for each name.

    Returns:
        The largest difference there was, by name.
    """
    mine, other = ours.numbers(), theirs.numbers()
    if not isinstance(tolerance, dict):
        tolerance = dict.fromkeys(mine, tolerance)
    found = {}
    for name, limit in tolerance.items():
        x, y = mine[name].astype("float64"), other[name].astype("float64")
        assert x.shape == y.shape, f"{name}: {x.shape} against {y.shape}"
        largest = max(np.abs(x).max(), np.abs(y).max())
        found[name] = np.abs(x - y).max() / (largest or 1.0)
        assert found[name] <= limit, (
            f"{ours.name} and {theirs.name} differ in {name} by "
            f"{found[name]:.1e}, and may by {limit:.0e}"
        )
    return found
