"""Parse a command line, run one command, and report errors."""

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence

from keras_attention.commands.arguments import PROGRAM
from keras_attention.commands.arguments import WrongArguments
from keras_attention.commands.arguments import check_arguments
from keras_attention.commands.arguments import read_arguments

EXPORTED = {".onnx", ".tflite"}  # endings of files that `translate` takes
FAILED, WRONG, CLOSED, INTERRUPTED = 1, 2, 128 + 13, 128 + 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The command-line arguments. Defaults to `None`, which means
            `sys.argv`.

    Returns:
        The exit code: 0 for success, 1 for an error, which is printed to
        standard error, 2 if an option has an invalid value, 130 after Ctrl-C,
        and 141 if the output is closed early, as by `| head`. Other invalid
        arguments raise `SystemExit` with code 2.
    """
    given = read_arguments(arguments)
    name = f"{PROGRAM} {given.command}"

    def show_warning(message, *_):
        print(f"{name}: warning: {message}", file=sys.stderr)

    try:
        check_arguments(given)
        run = _import_command(given)
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            run(given)
            if sys.stdout is not None:  # it is, where it is closed
                sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        said = error
        if isinstance(error, OSError) and error.filename and error.strerror:
            said = f"{error.filename}: {error.strerror}"
        print(f"{name}: error: {said}", file=sys.stderr)
        return WRONG if isinstance(error, WrongArguments) else FAILED
    return 0


def _import_command(given: argparse.Namespace) -> Callable:
    """Import a command's `run`, after the package with its backend.

    Exported files need neither.
    """
    name = f"keras_attention.commands.{given.command}"
    is_file = given.command == "translate" and _is_exported(given.folder)
    name += "_file" if is_file else ""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # exceptions tell more
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # keeps freed memory
    # Else threads of torch spin while others compute, and use up their time.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if is_file and not given.imports:
        return importlib.import_module(name).run
    with quiet_start():
        importlib.import_module("keras_attention").import_rooms()
        for file in given.imports:
            _import_file(file)
        return importlib.import_module(name).run


def _import_file(file):
    """Import a Python file of the user as a module."""
    try:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(file.stem, module)
        spec.loader.exec_module(module)
    except Exception as error:
        raise WrongArguments(
            "`--import` requires a Python file that runs. Received: "
            f"import={file}, which raises {type(error).__name__}: {error}. "
            f"Try it by itself: python {file}"
        ) from error


def _is_exported(path):
    return path.suffix.lower() in EXPORTED


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Hide what libraries print to standard error, unless they fail.

    TensorFlow prints some lines before it reads its log level.
    """
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with tempfile.TemporaryFile() as said, os.fdopen(kept, "wb") as screen:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            screen.write(said.read())
            raise
        finally:
            screen.flush()
            os.dup2(screen.fileno(), 2)


def _forget_output():
    """Redirect standard output, which Python flushes at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # no file behind it, as in a notebook
        return
