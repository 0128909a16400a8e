"""What each command takes: read before anything slow is imported."""

import argparse
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from keras_attention.version import __version__

PROGRAM = "keras-attention"
FORMATS = ("tf_saved_model", "litert", "litert_text", "onnx")
SCORES = ("bleu", "chrf", "ter", "wer", "cer", "accuracy")


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
        description="Work with the folders that Translator.save writes.",
    )
    version = f"{PROGRAM} {__version__}"
    parser.add_argument("--version", action="version", version=version)
    parsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for name, (about, add_arguments) in COMMANDS.items():
        command = parsers.add_parser(name, help=about, description=about)
        add_arguments(command.add_argument)
    given, unknown = parser.parse_known_args(words)
    if unknown:
        said = f"unrecognized arguments: {' '.join(unknown)}"
        parsers.choices[given.command].error(said)
    return given


def _of_translate(add: Callable):
    _folder(add)
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


def _of_export(add: Callable):
    _folder(add)
    add("path", help="what to write: a folder, a *.tflite or a *.onnx file")
    about = "the format (that of the path's ending)"
    add("--format", choices=FORMATS, help=about)
    add("--quantize", metavar="HOW", help="of LiteRT: float16 or int8")
    most = "most tokens of a text"
    add("--max-length", type=_count, metavar="T", help=most)


def _of_score(add: Callable):
    right = "files with one right translation a line, one or several"
    add("references", nargs="+", type=Path, metavar="REFERENCES", help=right)
    found = "what is scored (standard input)"
    add("--hypotheses", type=_file, metavar="FILE", help=found)
    some = f"those of {','.join(SCORES)} to print (all)"
    add("--metrics", type=_scores, default=SCORES, metavar="NAMES", help=some)
    capitals = "do not distinguish capital letters"
    add("--lowercase", action="store_true", help=capitals)
    add(
        "--alignments",
        action="store_true",
        help="both files are alignments in Pharaoh's form: 1-2 is sure, 1?2 "
        "possible; prints the alignment error rate",
    )


def _of_show(add: Callable):
    _folder(add)
    add("--json", action="store_true", help="write JSON, for programs")


COMMANDS = {  # what they do, and what they take
    "translate": (
        "Translate lines, and write them in their order.",
        _of_translate,
    ),
    "export": (
        "Write a saved translator in another format, and try it.",
        _of_export,
    ),
    "score": (
        "Score translations, by BLEU or error rates, or alignments by AER.",
        _of_score,
    ),
    "show": (
        "Show what is in a saved translator: sizes, search, versions, hash.",
        _of_show,
    ),
}


def _folder(add: Callable):
    about = "what Translator.save has written"
    add("folder", type=Path, metavar="FOLDER", help=about)


def _file(word: str) -> Path | None:
    return None if word == "-" else Path(word)


def _count(word: str) -> int:
    number = int(word)
    if not 0 < number < 2**31:
        raise argparse.ArgumentTypeError(f"not a positive count: {word}")
    return number


def _scores(word: str) -> list[str]:
    names = word.split(",")
    if not set(names) <= set(SCORES):
        raise argparse.ArgumentTypeError(
            f"{word!r} is not of {','.join(SCORES)}"
        )
    return names
