"""A side of a measurement: a process that computes only on command."""

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
# Thread pools that wait by spinning would take CPU time of the other side.
QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
    "PYTHONWARNINGS": "ignore",
}
# With oneDNN TensorFlow keeps freed memory, which hides how much a step needs.
# Its matrix products are Eigen's in either case.
RETURN_MEMORY = {"TF_ENABLE_ONEDNN_OPTS": "0"}


def one_dnn(environment) -> str:
    """Name the setting of oneDNN, by which TensorFlow takes other kernels.

    Args:
        environment: The environment variables of a process.
    """
    default = "not set, TensorFlow decides by the processor"
    value = environment.get("TF_ENABLE_ONEDNN_OPTS", default)
    return f"TF_ENABLE_ONEDNN_OPTS {value}"


class Process:
    """Runs a module of `sides` in a process of its own.

    Args:
        name: Name to print.
        module: Name of the module, such as `"decoder_ours"`.
        work: Sizes, a `NamedTuple` of `works.py`.
        arrays: File `.npz` with weights and data.
        mode: `"xla"` or `"default"`; `"eager"` or `"compile"` for torch.
            Defaults to `"default"`.
        python: Path of the Python executable. Defaults to the current one.
        **environment: Further environment variables.
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
            env=(given := os.environ | QUIET | variables | environment),
        )
        print(f"{name}: {one_dnn(given)}", file=sys.stderr)
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
        """Do the work once, and return the seconds that it took."""
        return self.timed()[0]

    def timed(self, *given: int) -> tuple[float, float]:
        """Do the work once, and time it.

        Args:
            *given: Arguments of the work.

        Returns:
            The seconds that it took, and those that all threads of the
            process were on a CPU.
        """
        wall, busy = self._ask(" ".join(["run", *map(str, given)])).split()
        return float(wall), float(busy)

    def memory(self) -> int:
        """Return the bytes that the work needs at its peak.

        The process should have been started with `RETURN_MEMORY`.
        """
        self.run()
        return int(statistics.median(int(self._ask("memory")) for _ in "123"))

    def numbers(self) -> dict:
        """Return the arrays that are to be compared, by name."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "numbers.npz"
            self._ask(f"numbers {file}")
            with np.load(file) as stored:
                return dict(stored)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used so far (on Linux)."""
        stat = Path(f"/proc/{self._child.pid}/stat").read_text()
        ticks = stat.rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def peak(self) -> int:
        """Return the most bytes that the process has held (on Linux)."""
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()


@contextlib.contextmanager
def stored(arrays: dict):
    """Store arrays in a file until the end of a `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        yield file


def compare(ours: Process, theirs: Process, tolerance: float | dict) -> dict:
    """Check that two sides compute the same numbers.

    Args:
        ours: One side.
        theirs: The other side.
        tolerance: Largest difference of two arrays, relative to their largest
            absolute value; or a dictionary of such numbers by name.

    Returns:
        The largest relative differences, by name.
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
