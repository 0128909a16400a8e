"""Asks a SavedModel in a process that has neither TensorFlow nor Keras."""

import pickle
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("libtensorflow.py")


def ask(folder: Path, requests: list, with_operations: bool = True) -> dict:
    """Send requests through one session, as a server would.

    Args:
        folder: The SavedModel.
        requests: Pairs of a signature and a batch of texts, as bytes.
        with_operations: Whether to load the operations of `tensorflow_text`.

    Returns:
        What `answer` of `libtensorflow.py` returns.

    Raises:
        RuntimeError: If the process fails; with what it said.
    """
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=pickle.dumps((str(folder), with_operations, requests)),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        raise RuntimeError(f"exit {done.returncode}: {said}")
    return pickle.loads(done.stdout)
