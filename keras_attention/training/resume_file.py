"""The file of a state of training: whole or not there, sealed, no code."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from keras_attention.files import check_seal
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.training.plain_values import as_bytes
from keras_attention.training.plain_values import pack
from keras_attention.training.plain_values import unpack

ABOUT = "about"
VERSION = 1  # of what is in the file


def write_state(file: Path, state: dict[str, Any]):
    """Write a state in place of the one before, whole or not at all.

    Args:
        file: The file. Its folder is made.
        state: Plain values, as `pack` takes them.
    """
    arrays = []
    packed = {"version": VERSION, "state": pack(state, arrays)}
    text = json.dumps(packed)
    named = {str(i): as_bytes(array) for i, array in enumerate(arrays)}
    named[ABOUT] = np.frombuffer(text.encode(), np.uint8)
    with replaced_file(file) as draft:
        with draft.open("wb") as content:
            np.savez(content, **named)
        seal(draft)


def read_state(file: Path) -> dict[str, Any] | None:
    """Read the last state that was written.

    Args:
        file: The file.

    Returns:
        The state, or `None` if there is none.

    Raises:
        ValueError: If the file is damaged. The message names it.
    """
    if file.parent.is_dir():
        recover(file)
    if not file.exists():
        return None
    check_seal(file)
    try:
        with np.load(file, allow_pickle=False) as content:
            named = dict(content)
        text = named.pop(ABOUT).tobytes().decode()
        arrays = [named[str(i)] for i in range(len(named))]
        packed = json.loads(text)
        if packed["version"] != VERSION:
            raise ValueError(f"it has version {packed['version']}")
        return unpack(packed["state"], arrays)
    except Exception as error:  # who seals anything else may raise any
        raise ValueError(
            "ResumeTraining needs a state that it wrote itself. Received: "
            f"{file}, which holds none: {type(error).__name__}: {error}. "
            "Remove it to begin anew."
        ) from error


def remove_state(file: Path):
    """Remove the file, and its folder unless something else is in it."""
    file.unlink(missing_ok=True)
    recover(file)
    if file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
