"""The command-line arguments, parsed before anything slow is imported."""

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
    """An option has an invalid value. The exit code is 2."""


@contextlib.contextmanager
def checking_arguments() -> Iterator[None]:
    """Convert a `ValueError` in the block to `WrongArguments`."""
    try:
        yield
    except ValueError as error:
        raise WrongArguments(str(error)) from error


def read_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line.

    An argument that names an input file is a `Path`, so that a missing file is
    reported before the command starts.

    Args:
        words: The arguments. Defaults to `None`, which means `sys.argv`.

    Returns:
        The name of the `command`, and its arguments.

    Raises:
        SystemExit: With code 2 after a usage message if the arguments are
            invalid; with 0 for `--help` and `--version`.
    """
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Train, use and export translators.",
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
            help="import this Python file first, for example to register "
            "custom tokenizers, layers or export formats (can be repeated)",
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
    _folder(add, ", or an exported file (*.onnx or *.tflite)")
    add(
        "file",
        type=_file,
        nargs="?",
        metavar="FILE",
        help="file with one sentence per line (default: standard input)",
    )
    out = "output file (default: standard output)"
    add("-o", "--output", metavar="FILE", help=out)
    scores = "append a tab and the score of each translation"
    add("--scores", action="store_true", help=scores)
    token_scores = "append a tab and the log probability of each target token"
    add("--token-scores", action="store_true", help=token_scores)
    best = "write the N best translations of each sentence, on N lines"
    add("--n-best", type=_count, metavar="N", help=best)
    add(
        "--alignments",
        action="store_true",
        help="append a tab and alignments in Pharaoh format, such as 0-0 1-2: "
        "zero-based indices of each target token and of the source token with "
        "its highest attention weight, source first, without start and end",
    )
    size = "batch size, in lines (default: 32)"
    add("--batch-size", type=_count, default=32, metavar="B", help=size)
    saved = "(default: that of the saved search)"
    add("--beam-size", type=_count, metavar="K", help=f"beam width {saved}")
    about = f"length penalty of beam search {saved}"
    add("--length-penalty", type=float, metavar="A", help=about)
    most = f"maximum number of tokens in a translation {saved}"
    add("--max-length", type=_count, metavar="T", help=most)
    add(
        "--unknown",
        choices=("warn", "error", "ignore"),
        default="warn",
        help="how to handle source tokens that are not in the vocabulary, such "
        "as letters of another script (default: warn)",
    )


def _of_export(add: Callable):
    about = "path to a saved translator, or to a Keras model (*.keras)"
    add("folder", type=Path, metavar="FOLDER", help=about)
    add("path", help="output path: a folder, a *.tflite file or a *.onnx file")
    about = "name of the format (default: by the extension of the path)"
    add("--format", metavar="NAME", help=about)
    how = "how to store weights: int8; for LiteRT also float16 and, for Keras "
    how += "models, full_int8 (default: float32)"
    add("--quantize", metavar="HOW", help=how)
    saved = "(default: that of the saved search)"
    most = f"maximum number of tokens in a translation {saved}"
    add("--max-length", type=_count, metavar="T", help=most)
    best = f"number of translations per sentence {saved}"
    add("--n-best", type=_count, metavar="N", help=best)
    add(
        "--outputs",
        type=_some_of(OUTPUTS),
        default=OUTPUTS[:2],
        metavar="NAMES",
        help=f"outputs of the file, separated by commas: {','.join(OUTPUTS)} "
        f"(default: {','.join(OUTPUTS[:2])})",
    )
    sample = "example inputs (*.npy or *.npz), required for a Keras model"
    add("--sample", type=Path, metavar="FILE", help=sample)


def _of_score(add: Callable):
    right = "files with one reference per line; with --model, the source file"
    add("references", nargs="+", type=Path, metavar="REFERENCES", help=right)
    found = "file with one hypothesis per line (default: standard input)"
    add("--hypotheses", type=_file, metavar="FILE", help=found)
    some = f"metrics to print, separated by commas: {','.join(METRICS)} "
    some += "(default: all)"
    add("--metrics", type=_some_of(METRICS), metavar="NAMES", help=some)
    capitals = "ignore letter case"
    add("--lowercase", action="store_true", help=capitals)
    model = "score with this saved translator instead of metrics: print the "
    model += "log probability of each hypothesis, and the perplexity of all"
    add("--model", type=Path, metavar="FOLDER", help=model)
    add(
        "--alignments",
        action="store_true",
        help="score alignments in Pharaoh format instead of texts: 1-2 is a "
        "sure link, 1?2 a possible link; print the alignment error rate (AER)",
    )


def _of_members(add: Callable):
    folders = "paths to two or more saved translators"
    add("folders", nargs="+", type=Path, metavar="FOLDER", help=folders)
    out = "output folder for the new translator"
    add("-o", "--output", required=True, metavar="FOLDER", help=out)


def _of_show(add: Callable):
    _folder(add)
    add("--json", action="store_true", help="print JSON")


EXAMPLES = {
    "train": f"""examples:
  {PROGRAM} train train.tsv --validation dev.tsv -o sounds
  {PROGRAM} train train.de train.en --validation dev.de dev.en -o de_en
  {PROGRAM} train more.tsv --validation dev.tsv --init sounds -o adapted
  {PROGRAM} train all.tsv --validation dev.tsv --members 5 --distill -o one""",
    "translate": f"""examples:
  {PROGRAM} translate de_en news.de -o news.en
  echo "Guten Tag." | {PROGRAM} translate de_en --scores
  {PROGRAM} translate de_en news.de --beam-size 10 --n-best 3
  {PROGRAM} translate de_en.onnx news.de -o news.en""",
    "export": f"""examples:
  {PROGRAM} export de_en saved_models/de_en/1
  {PROGRAM} export de_en de_en.onnx --quantize int8
  {PROGRAM} export de_en de_en.tflite --outputs translations,scores,attention
  {PROGRAM} export sentiment.keras sentiment.tflite --sample sample.npy""",
    "ensemble": f"""example:
  {PROGRAM} ensemble de_en/seed_0 de_en/seed_1 -o both""",
    "average": f"""example:
  {PROGRAM} average epoch_18 epoch_19 epoch_20 -o mean""",
    "score": f"""examples:
  {PROGRAM} score test.en --hypotheses test.out
  {PROGRAM} translate de_en test.de | {PROGRAM} score test.en --metrics bleu
  {PROGRAM} score test.de --hypotheses test.out --model de_en
  {PROGRAM} score gold.align --hypotheses test.align --alignments""",
    "show": f"""examples:
  {PROGRAM} show de_en
  {PROGRAM} show de_en --json""",
}
COMMANDS = {  # what they do, and what they take
    "train": (
        "Train or fine-tune a translator on pairs of texts.",
        add_train_arguments,
    ),
    "translate": (
        "Translate text, one sentence per line.",
        _of_translate,
    ),
    "export": (
        "Export a translator or a Keras model, and verify the result.",
        _of_export,
    ),
    "ensemble": (
        "Combine saved translators by averaging their output probabilities.",
        _of_members,
    ),
    "average": (
        "Average the weights of checkpoints of one training.",
        _of_members,
    ),
    "score": (
        "Score translations with metrics or a model, or score alignments.",
        _of_score,
    ),
    "show": (
        "Show the model, tokenizers, search and versions of a translator.",
        _of_show,
    ),
}


def check_arguments(given: argparse.Namespace):
    """Raise an error for invalid arguments before a command starts.

    Args:
        given: The parsed arguments. For `train`, `recipe` is added.

    Raises:
        OSError: If an input file does not exist.
        WrongArguments: If an option has an invalid value.
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
    """Raise an error, before hours of work, if a folder cannot be created."""
    parent = next(x for x in Path(folder).absolute().parents if x.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ValueError(
            "`--output` must be a writable folder. Received: "
            f"{folder}, in {parent}, which is a file or is read-only. Choose "
            "another folder."
        )


def bytes_of(name: str, option: str) -> BinaryIO:
    """Return a standard stream as a binary stream.

    Args:
        name: `"stdin"` or `"stdout"`.
        option: The option that names a file instead.

    Raises:
        ValueError: If the stream is closed.
    """
    stream = getattr(sys, name)
    if stream is None:
        raise ValueError(
            f"A file or {name} is required. Received: {name}, which is closed. "
            f"Pass {option}."
        )
    return stream.buffer


def _folder(add: Callable, more: str = ""):
    about = f"path to a saved translator{more}"
    add("folder", type=Path, metavar="FOLDER", help=about)


def _file(word: str) -> Path | None:
    return None if word == "-" else Path(word)


def _count(word: str) -> int:
    number = float(word) if word.isdecimal() else 0  # inf for many digits
    if not 0 < number < 2**31:
        raise argparse.ArgumentTypeError(f"must be a positive integer: {word}")
    return int(number)


def _some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that parses comma-separated names."""

    def read(word):
        names = word.split(",")
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(
                f"{word!r} is not a list of {','.join(known)}"
            )
        return names

    return read
