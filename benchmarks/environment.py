"""The environment of TensorFlow Addons, with the last release it supports."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    "tensorflow-cpu==2.15.1",
    "tensorflow-addons==0.23.0",
    "numpy<2",
)
VERSION = (3, 11)
DEFAULT = Path.home() / ".cache" / "keras_attention" / "tfa"


def python_of(peer: str, folder: Path) -> Path:
    """Return the Python that runs a peer.

    Args:
        peer: Name of the peer. `"tfa"` needs an environment of its own.
        folder: Folder of that environment, which is created if it is missing.

    Returns:
        The path of the Python executable.
    """
    return peer_python(folder) if peer == "tfa" else Path(sys.executable)


def peer_python(folder: Path) -> Path:
    """Return the Python of TFA's environment, and create that if missing.

    Args:
        folder: Folder of the environment.

    Returns:
        The path of its Python executable.
    """
    python = folder / "bin" / "python"
    done = folder / "complete"  # written last: a partial one is made again
    if done.exists() or _imports(python):
        return python
    print(f"Installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
    command = [_python311(), "-m", "venv", "--clear", str(folder)]
    subprocess.run(command, check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
    subprocess.run(command, check=True)
    done.touch()
    return python


def _imports(python) -> bool:
    """Return whether this Python exists and can import TFA."""
    if not python.exists():
        return False
    command = [str(python), "-c", "import tensorflow_addons"]
    return not subprocess.run(command, capture_output=True).returncode


def _python311() -> str:
    if sys.version_info[:2] == VERSION:
        return sys.executable
    found = shutil.which("python3.11")
    if found is None:
        raise SystemExit(
            "TensorFlow Addons needs Python 3.11, and there is no python3.11 "
            "in PATH. Install it, or name an environment that has "
            f"{', '.join(PACKAGES)} by --peer-environment."
        )
    return found


def add_arguments(parser: argparse.ArgumentParser):
    """Add the argument of all scripts that measure TensorFlow Addons."""
    parser.add_argument(
        "--peer-environment",
        type=Path,
        default=DEFAULT,
        help="environment with TensorFlow Addons; made if it is not there",
    )
