"""The peer's environment: TensorFlow Addons on the last release it ran with."""

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
    """Find the Python that a side runs by: of TFA, the peer's environment.

    Args:
        peer: `"tfa"`, or any other.
        folder: Where the peer's environment is, or is to be.
    """
    return peer_python(folder) if peer == "tfa" else Path(sys.executable)


def peer_python(folder: Path) -> Path:
    """Find the Python of the peer's environment; make that if it is not there.

    Args:
        folder: Where the environment is, or is to be.

    Returns:
        The path of its Python.
    """
    python = folder / "bin" / "python"
    done = folder / "complete"  # written last, so half of one is made anew
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
    """Whether there is such a Python, with the packages in it."""
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
    """Add what all scripts take that measure against TensorFlow Addons."""
    parser.add_argument(
        "--peer-environment",
        type=Path,
        default=DEFAULT,
        help="environment with TensorFlow Addons; made if it is not there",
    )
