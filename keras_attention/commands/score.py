"""The command `score FILES`, for translations, alignments and models."""

import argparse
import re

import numpy as np

from keras_attention.commands.arguments import bytes_of
from keras_attention.files import bare_lines
from keras_attention.recipe.options import METRICS
from keras_attention.text import read_lines
from keras_attention.training import error_rate_of_links
from keras_attention.training import score_texts
from keras_attention.translator import Translator

LINK = re.compile(r"(\d{1,18})([-?p])(\d{1,18})")


def run(arguments: argparse.Namespace):
    """Score translations by metrics or a model, or alignments by AER."""
    references = [read_lines(x) for x in arguments.references]
    hypotheses = _read(arguments.hypotheses)
    if not hypotheses and any(references):
        raise ValueError(
            "`score` needs hypotheses, from standard input or from "
            "`--hypotheses FILE`; the other files are references. "
            f"Received: none, and {len(references)} reference files."
        )
    for name, lines in zip(arguments.references, references, strict=True):
        if len(lines) != len(hypotheses):
            raise ValueError(
                "`score` needs one hypothesis per reference. Received: "
                f"{len(hypotheses)} hypotheses, and {len(lines)} lines in "
                f"{name}. Pass all lines in the same order."
            )
    _check_one_kind(arguments)
    if arguments.model is not None:
        (sources,) = _one_file("--model", "sources", references)
        _score_by_model(Translator.load(arguments.model), sources, hypotheses)
        return
    if arguments.alignments:
        _one_file("--alignments", "references", references)
        print(f"AER = {alignment_error(hypotheses, references[0]):.4f}")
        return
    given = hypotheses, references, arguments.lowercase
    for name in arguments.metrics or METRICS:
        value, signature = score_texts(name, *given)
        print(f"{name} = {value:.2f} {signature}".rstrip())


def _check_one_kind(arguments):
    """Raise a `ValueError` if options exclude each other."""
    options = {
        "--model": arguments.model is not None,
        "--alignments": arguments.alignments,
        "--metrics": arguments.metrics,
        "--lowercase": arguments.lowercase,
    }
    given = [name for name, is_given in options.items() if is_given]
    if len(given) > 1 and given[0] != "--metrics":
        raise ValueError(
            "`score` uses metrics, alignments or a model. Received: "
            f"{' and '.join(given)}. Leave out all but one of them."
        )


def _one_file(option, kind, files):
    if len(files) > 1:
        raise ValueError(
            f"`score {option}` needs one file with {kind}. Received: "
            f"{len(files)}. In alignments, mark possible links as 1?2."
        )
    return files


def _score_by_model(translator, sources, texts):
    found = translator.score(sources, texts)
    for score in found.scores:
        print(f"{score:.6f}")
    total, count = sum(found.scores), sum(map(len, found.target_tokens))
    with np.errstate(over="ignore"):  # it is infinite then
        print(f"perplexity = {np.exp(-total / max(count, 1)):.4f}")


def _read(file):
    if file is not None:
        return read_lines(file)
    try:
        return [
            x.decode("utf-8")
            for x in bare_lines(bytes_of("stdin", "--hypotheses FILE"))
        ]
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Hypotheses must be UTF-8. Received: {error}. Convert them, for "
            "example with iconv."
        ) from error


def alignment_error(hypotheses: list[str], references: list[str]) -> float:
    """Compute the alignment error rate (AER) of alignments in Pharaoh format.

    Args:
        hypotheses: Links such as `"0-0 1-2"`, one line per sentence.
        references: Sure links, and possible links such as `"1?2"`.

    Returns:
        The rate, from 0 to 1.

    Raises:
        ValueError: If a line contains anything else.
    """
    kinds = (hypotheses, "-?p"), (references, "-"), (references, "-?p")
    return error_rate_of_links(*(_links(*x) for x in kinds))


def _links(lines, kinds):
    """Read the links of each line whose sign is one of `kinds`."""
    found = [set() for _ in lines]
    for number, line in enumerate(lines, start=1):
        for link in line.split():
            parts = LINK.fullmatch(link)
            if parts is None:
                raise ValueError(
                    "Alignments must be pairs such as 0-0 1-2, or 1?2 for a "
                    f"possible link. Received: {link!r} in line {number}."
                )
            if parts[2] in kinds:
                found[number - 1].add((int(parts[1]), int(parts[3])))
    return found
