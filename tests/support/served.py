"""Asks a SavedModel in a process that has neither TensorFlow nor Keras."""

import json
import subprocess
import sys
from pathlib import Path

from arrays import from_json

PROGRAM = Path(__file__).with_name("libtensorflow.py")


def ask(folder: Path, requests: list, with_operations: bool = True) -> dict:
    """Send requests through one session, as a server would.

    Args:
        folder: The SavedModel.
        requests: Pairs of a signature and a batch of texts, as bytes.
        with_operations: Whether to load the operations of `tensorflow_text`.

    Returns:
        What `answer` of `libtensorflow.py` returns: arrays by their names for
        each request, kilobytes, and sets of names of operations.

    Raises:
        RuntimeError: If the process fails; with what it said.
    """
    question = {
        "folder": str(folder),
        "with_operations": with_operations,
        "requests": [
            (name, [text.decode("latin-1") for text in texts])
            for name, texts in requests
        ],
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=json.dumps(question).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        raise RuntimeError(f"exit {done.returncode}: {said}")
    found = json.loads(done.stdout)
    answers = [from_json(answer) for answer in found.pop("answers")]
    memory = found.pop("kilobytes")
    sets = {name: set(operations) for name, operations in found.items()}
    return {"answers": answers, "kilobytes": memory, **sets}
