"""What each command takes: read before anything slow is imported."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from keras_attention.commands.train_arguments import add_train_arguments
from keras_attention.commands.train_arguments import make_recipe
from keras_attention.commands.train_arguments import read_config
from keras_attention.recipe.options import METRICS
from keras_attention.version import __version__

PROGRAM = "keras-attention"
OUTPUTS = ("translations", "scores", "token_scores", "attention")


class WrongArguments(ValueError):
    """An option has a value that does not fit. The exit code is 2."""


@contextlib.contextmanager
def checking_arguments() -> Iterator[None]:
    """Turn a `ValueError` of the block into `WrongArguments`."""
    try:
        yield
    except ValueError as error:
        raise WrongArguments(str(error)) from error


def read_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read a command line.

    What a command reads is a `Path`, so that one that is missing is told
    before the command begins.

    Args:
        words: The words. Defaults to `None`, those of this process.

    Returns:
        The name of the `command`, and its arguments.

    Raises:
        SystemExit: With code 2 if they are wrong, after the usage of the
            command; with 0 for `--help` and `--version`.
    """
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Train and use translators.",
    )
    version = f"{PROGRAM} {__version__}"
    parser.add_argument("--version", action="version", version=version)
    parsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for name, (about, add_arguments) in COMMANDS.items():
        command = parsers.add_parser(
            name,
            help=about,
            description=about,
            epilog=EXAMPLES.get(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_arguments(command.add_argument)
        command.add_argument(
            "--import",
            action="append",
            dest="imports",
            type=Path,
            default=[],
            metavar="FILE",
            help="import this Python file first, because it registers your "
            "own tokenizers, layers, or export formats (can be repeated)",
        )
    words = [*map(str, sys.argv[1:] if words is None else words)]
    if not words or words[0] not in COMMANDS:
        return parser.parse_args(words)  # help, the version, or an error
    command = parsers.choices[words[0]]
    command.set_defaults(command=words[0])
    # Options may stand between the files.
    given = command.parse_intermixed_args(words[1:])
    if getattr(given, "config", None) is not None:
        try:
            command.set_defaults(**read_config(given.config))
        except (OSError, ValueError) as error:
            command.error(f"argument --config: {given.config}: {error}")
        given = command.parse_intermixed_args(words[1:])
    return given


def _of_translate(add: Callable):
    _folder(add, ", or an exported file, *.onnx or *.tflite")
    add(
        "file",
        type=_file,
        nargs="?",
        metavar="FILE",
        help="a text with a sentence a line (standard input)",
    )
    out = "write to this file, whole or not at all (standard output)"
    add("-o", "--output", metavar="FILE", help=out)
    scores = "add the score of each translation, after a tab"
    add("--scores", action="store_true", help=scores)
    token_scores = "add the log probabilities of its tokens, after a tab"
    add("--token-scores", action="store_true", help=token_scores)
    best = "write the N best translations of each line, on N lines"
    add("--n-best", type=_count, metavar="N", help=best)
    add(
        "--alignments",
        action="store_true",
        help="add, after a tab, pairs such as 0-0 1-2: tokens of the source "
        "and of the translation, counted from 0, without start and end; for "
        "each token of the translation the one that it attends to most",
    )
    size = "how many lines run at a time (32)"
    add("--batch-size", type=_count, default=32, metavar="B", help=size)
    add("--beam-size", type=_count, metavar="K", help="search with K beams")
    add("--length-penalty", type=float, metavar="A", help="of a beam search")
    most = "most tokens of a line"
    add("--max-length", type=_count, metavar="T", help=most)
    add(
        "--unknown",
        choices=("warn", "error", "ignore"),
        default="warn",
        help="what to do about tokens that the model was not trained on, such "
        "as letters of another script (default: warn)",
    )


def _of_export(add: Callable):
    about = "what Translator.save has written, or a Keras model, *.keras"
    add("folder", type=Path, metavar="FOLDER", help=about)
    add("path", help="what to write: a folder, a *.tflite or a *.onnx file")
    about = "name of the format (default: by the ending of the path)"
    add("--format", metavar="NAME", help=about)
    how = "int8; for LiteRT also float16 and, for Keras models, full_int8"
    add("--quantize", metavar="HOW", help=how)
    most = "most tokens of a text"
    add("--max-length", type=_count, metavar="T", help=most)
    best = "let the file give the N best translations (default: the search's)"
    add("--n-best", type=_count, metavar="N", help=best)
    add(
        "--outputs",
        type=_some_of(OUTPUTS),
        default=OUTPUTS[:2],
        metavar="NAMES",
        help=f"what the file gives: those of {','.join(OUTPUTS)} "
        f"(default: {','.join(OUTPUTS[:2])})",
    )
    sample = "examples of what a Keras model takes, *.npy or *.npz"
    add("--sample", type=Path, metavar="FILE", help=sample)


def _of_score(add: Callable):
    right = "files with one right translation a line; with --model the sources"
    add("references", nargs="+", type=Path, metavar="REFERENCES", help=right)
    found = "file with the texts to score (standard input)"
    add("--hypotheses", type=_file, metavar="FILE", help=found)
    some = f"those of {','.join(METRICS)} to print (all)"
    add("--metrics", type=_some_of(METRICS), metavar="NAMES", help=some)
    capitals = "do not distinguish capital letters"
    add("--lowercase", action="store_true", help=capitals)
    model = "print the log probability that a saved translator gives to each "
    model += "hypothesis, a line each, and then their perplexity"
    add("--model", type=Path, metavar="FOLDER", help=model)
    add(
        "--alignments",
        action="store_true",
        help="both files are alignments in Pharaoh's form: 1-2 is sure, 1?2 "
        "possible; prints the alignment error rate",
    )


def _of_members(add: Callable):
    folders = "paths to two or more saved translators"
    add("folders", nargs="+", type=Path, metavar="FOLDER", help=folders)
    out = "folder to save the new translator in"
    add("-o", "--output", required=True, metavar="FOLDER", help=out)


def _of_show(add: Callable):
    _folder(add)
    add("--json", action="store_true", help="write JSON, for programs")


EXAMPLES = {
    "train": f"""examples:
  {PROGRAM} train train.tsv --validation dev.tsv -o sounds
  {PROGRAM} train train.de train.en --validation dev.de dev.en -o de_en
  {PROGRAM} train more.tsv --validation dev.tsv --init sounds -o adapted
  {PROGRAM} train all.tsv --validation dev.tsv --members 5 --distill -o one""",
}
COMMANDS = {  # what they do, and what they take
    "train": (
        "Train a translator on pairs of texts, and keep the best epoch.",
        add_train_arguments,
    ),
    "translate": (
        "Translate lines, and write them in their order.",
        _of_translate,
    ),
    "export": (
        "Export a saved translator or a Keras model, and try the file.",
        _of_export,
    ),
    "ensemble": (
        "Join saved translators to one that averages their probabilities.",
        _of_members,
    ),
    "average": (
        "Average the weights of checkpoints of a training, and save the mean.",
        _of_members,
    ),
    "score": (
        "Score translations by error rates or a model, or alignments by AER.",
        _of_score,
    ),
    "show": (
        "Show what is in a saved translator: sizes, search, versions, hash.",
        _of_show,
    ),
}


def check_arguments(given: argparse.Namespace):
    """Raise an error for what a command cannot run with, before it starts.

    Args:
        given: What was read. `train` gets the `recipe` of its options.

    Raises:
        OSError: If something that will be read is not there.
        WrongArguments: If an option has a value that does not fit.
    """
    for value in given.__dict__.values():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path):
                path.stat()
    if given.command == "train":
        with checking_arguments():
            given.recipe = make_recipe(given)
            _check_writable(given.output)


def _check_writable(folder: str):
    """Raise an error, before hours of work, if a folder cannot be made."""
    parent = next(x for x in Path(folder).absolute().parents if x.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ValueError(
            "`--output` must be a folder that can be written. Received: "
            f"{folder}, in {parent}, which is a file or is read-only. Name "
            "another folder."
        )


def bytes_of(name: str, option: str) -> BinaryIO:
    """Return a standard stream, for bytes.

    Args:
        name: `"stdin"` or `"stdout"`.
        option: What names a file in its place.

    Raises:
        ValueError: If the process was started with it closed.
    """
    stream = getattr(sys, name)
    if stream is None:
        raise ValueError(
            f"There must be a file or {name}. Received: {name} that is closed. "
            f"Give {option}."
        )
    return stream.buffer


def _folder(add: Callable, more: str = ""):
    about = f"what Translator.save has written{more}"
    add("folder", type=Path, metavar="FOLDER", help=about)


def _file(word: str) -> Path | None:
    return None if word == "-" else Path(word)


def _count(word: str) -> int:
    number = int(word) if word.isdecimal() and len(word) < 11 else 0
    if not 0 < number < 2**31:
        raise argparse.ArgumentTypeError(f"not a positive count: {word}")
    return number


def _some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that reads names with commas between them."""

    def read(word):
        names = word.split(",")
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(
                f"{word!r} is not of {','.join(known)}"
            )
        return names

    return read
