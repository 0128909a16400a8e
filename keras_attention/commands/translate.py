"""`translate FOLDER`: lines in, translated lines out, in order."""

import argparse
import itertools
import sys
import warnings
from collections.abc import Iterable
from collections.abc import Iterator

import numpy as np

from keras_attention.checks import check_integer
from keras_attention.commands.progress import Progress
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.translator import Translator

BATCHES = 32  # that are read at a time, and sorted by length
BYTES = 2**22  # that are read at a time, unless one line has more


def add_arguments(parser: argparse.ArgumentParser):
    """Add the arguments of the command."""
    add = parser.add_argument
    add("folder", help="what Translator.save has written")
    add(
        "--scores",
        action="store_true",
        help="add the score of each translation, after a tab",
    )
    add(
        "--n-best",
        type=int,
        default=None,
        metavar="N",
        help="write the N best translations of each line, on N lines",
    )
    add(
        "--alignments",
        action="store_true",
        help="add, after a tab, pairs such as 0-0 1-2: tokens of the source "
        "and of the translation, counted from 0, without start and end; for "
        "each token of the translation the one that it attends to most",
    )
    add(
        "--batch-size",
        type=int,
        default=32,
        metavar="B",
        help="how many lines run at a time (32)",
    )
    add("--beam-size", type=int, metavar="K", help="search with K beams")
    add("--length-penalty", type=float, metavar="A", help="of a beam search")
    add("--max-length", type=int, metavar="T", help="most tokens of a line")


def run(arguments: argparse.Namespace):
    """Translate the lines of standard input, and write them in their order."""
    check_integer("batch_size", arguments.batch_size)
    translator = Translator.load(arguments.folder)
    search = choose_search(translator.search, arguments)
    if search is not translator.search:
        translator = translator.with_search(search)
    with Progress("sentences") as progress:
        count = 0
        for lines in parts(sys.stdin.buffer, arguments.batch_size):
            rows = translate(translator, lines, arguments, first=count + 1)
            text = "".join(f"{row}\n" for row in rows)
            sys.stdout.buffer.write(text.encode("utf-8", errors="replace"))
            sys.stdout.buffer.flush()
            count += len(lines)
            progress.show(count)


def choose_search(
    search: AbstractSearch, arguments: argparse.Namespace
) -> AbstractSearch:
    """Change a search as the arguments say.

    Args:
        search: The search that was saved.
        arguments: Those of the command.

    Returns:
        The search itself, if no option is given; one of its kind with other
        options; a `BeamSearch` in its place, if it lacks the option.
    """
    given = {
        "n_best": arguments.n_best,
        "beam_size": arguments.beam_size,
        "length_penalty": arguments.length_penalty,
        "max_length": arguments.max_length,
    }
    given = {name: x for name, x in given.items() if x is not None}
    if not given:
        return search
    kind, config = type(search), search.get_config()
    if not given.keys() <= config.keys():
        kind, known = BeamSearch, BeamSearch(1).get_config()
        config = {name: x for name, x in config.items() if name in known}
    config = {**config, **given}
    if kind is BeamSearch and "beam_size" not in given:
        least = config.get("n_best", 1)
        config["beam_size"] = max(config.get("beam_size", 1), least)
    return kind.from_config(config)


def parts(lines: Iterable[bytes], batch_size: int) -> Iterator[list[bytes]]:
    r"""Split a stream of lines into parts of bounded size.

    A terminal is answered line by line.

    Args:
        lines: The lines, which end with `\n` or `\r\n`.
        batch_size: How many lines run at a time.

    Yields:
        Some lines, without their ends.
    """
    most = 1 if getattr(lines, "isatty", bool)() else BATCHES * batch_size
    part, size = [], 0
    for line in lines:
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if part and (len(part) == most or size + len(line) > BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
        if most == 1:
            yield part
            part, size = [], 0
    if part:
        yield part


def translate(
    translator: Translator,
    lines: list[bytes],
    arguments: argparse.Namespace,
    first: int,
) -> Iterator[str]:
    """Translate some lines.

    Args:
        translator: The translator.
        lines: The lines.
        arguments: Those of the command.
        first: The number of the first line, for warnings.

    Yields:
        A row for each translation.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        found = translator(
            lines,
            return_scores=True,
            return_attention_scores=arguments.alignments,
            batch_size=arguments.batch_size,
            verbose=0,
        )
    for warning in said:
        last = first + len(lines) - 1
        warnings.warn(
            f"Lines {first} to {last}: {warning.message}", stacklevel=2
        )
    nothing = itertools.repeat(None)
    aligned = arguments.alignments
    columns = (
        found.texts,
        found.scores if arguments.scores else nothing,
        found.attention if aligned else nothing,
        found.source_tokens if aligned else nothing,
        found.target_tokens if aligned else nothing,
    )
    several = translator.search.get_config().get("n_best", 1) > 1
    for row in zip(*columns, strict=False):
        yield from _rows(row, aligned) if several else [_row(row, aligned)]


def _rows(row, aligned):
    """Write the translations of one sentence."""
    texts, scores, weights, source, targets = row
    for k, text in enumerate(texts):
        one = [x if x is None else x[k] for x in (scores, weights, targets)]
        yield _row((text, one[0], one[1], source, one[2]), aligned)


def _row(row, aligned):
    text, score, weights, source, target = row
    cells = [" ".join(text.split("\t")).replace("\r", " ").replace("\n", " ")]
    if score is not None:
        cells.append(f"{score:.6f}")
    if aligned:
        cells.append(pharaoh(weights, source, target))
    return "\t".join(cells)


def pharaoh(weights, source: list[str], target: list[str]) -> str:
    """Write the alignment of one text in Pharaoh's form.

    Args:
        weights: `(T, Tv)`, or `None` if the model does not attend.
        source: The `Tv` tokens of the source, with start and end.
        target: The `T` tokens of the text, without start, with the end.

    Returns:
        Pairs such as `"0-0 1-2"`, in the order of the text.
    """
    if weights is None:
        return ""
    ends = 1 if target and target[-1] == "</s>" else 0
    rows = np.asarray(weights)[: len(target) - ends, 1 : len(source) - 1]
    if not rows.size:
        return ""
    best = rows.argmax(axis=1)
    return " ".join(f"{i}-{j}" for j, i in enumerate(best) if rows[j, i] > 0)
