"""Reads a command line, runs one command, and says how it went."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from keras_attention.commands import export
from keras_attention.commands import score
from keras_attention.commands import show
from keras_attention.commands import translate
from keras_attention.version import __version__

PROGRAM = "keras-attention"
COMMANDS = {
    "translate": translate,
    "export": export,
    "score": score,
    "show": show,
}
FAILED, CLOSED, INTERRUPTED = 1, 128 + 13, 128 + 2  # 2: wrong arguments


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words of the command line. Defaults to `None`, those of
            this process.

    Returns:
        The exit code: 0 if all went well, 1 for an error, which standard
        error names, 130 after Ctrl-C, and 141 if nobody reads on, as in
        `| head`. Wrong arguments raise `SystemExit` with code 2.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only
    given = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            COMMANDS[given.command].run(given)
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return FAILED
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Work with the folders that Translator.save writes.",
    )
    parser.add_argument(
        "--version", action="version", version=f"{PROGRAM} {__version__}"
    )
    parsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for name, command in COMMANDS.items():
        about = (command.run.__doc__ or "").split("\n")[0]
        command.add_arguments(
            parsers.add_parser(name, help=about, description=about)
        )
    return parser


def _show_warning(message, *_):
    print(f"{PROGRAM}: warning: {message}", file=sys.stderr)


def _forget_output():
    """Redirect standard output, as Python writes the rest of it at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # no file behind it, as in a notebook
        return
