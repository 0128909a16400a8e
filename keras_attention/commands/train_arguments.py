"""The arguments of `train`, parsed before anything slow is imported."""

import argparse
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import Field
from dataclasses import fields
from pathlib import Path

from keras_attention.files import open_to_read
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.options import fixed_options

METAVARS = {str: "TEXT", int: "N", float: "R"}
OPTIONS = {x.name: x for x in fields(Recipe)}


def add_train_arguments(add: Callable):
    """Add the arguments of `train` to a parser.

    Args:
        add: The method `add_argument` of the parser.
    """
    pairs = "training set: a tab-separated file, or two parallel text files"
    add("files", nargs="+", type=Path, metavar="FILE", help=pairs)
    same = "validation set, in the same form; it selects the best epoch"
    add(
        "--validation",
        required=True,
        nargs="+",
        type=Path,
        metavar="FILE",
        help=same,
    )
    out = "output folder for the translator and a report"
    add("--output", "-o", required=True, metavar="FOLDER", help=out)
    config = "read options from this TOML file; command-line options override "
    config += "it"
    add("--config", type=Path, metavar="FILE", help=config)
    init = "fine-tune this saved translator: extend its vocabularies, and "
    init += "train all weights on the given pairs"
    add("--init", type=Path, metavar="FOLDER", help=init)
    teacher = "distill this saved translator, such as an ensemble or a larger "
    teacher += "model; its tokenizers must be those of the new translator"
    add("--teacher", type=Path, metavar="FOLDER", help=teacher)
    add(
        "--unlabeled",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --distill or --teacher: files with one source per line, "
        "without targets, for which the ensemble or the teacher generates "
        "targets",
    )
    quiet = "print only warnings and errors"
    add("--quiet", action="store_true", help=quiet)
    for option in OPTIONS.values():
        _add_option(add, option)


def _add_option(add: Callable, option: Field):
    """Add an option of the recipe, without a default."""
    kind, choices = option.metadata["kind"], option.metadata["choices"]
    if kind is bool:
        how = {"action": "store_true"}
    elif choices is not None:
        how = {"choices": choices}
    else:
        how = {"type": kind, "metavar": METAVARS[kind]}
    if option.name == "columns":
        how |= {"nargs": "+", "metavar": "N"}
    name = f"--{option.name.replace('_', '-')}"
    about = option.metadata["about"].replace("%", "%%")
    add(name, default=argparse.SUPPRESS, help=about, **how)


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """Create the recipe for a command line.

    Args:
        arguments: The parsed arguments.

    Returns:
        The recipe. Options that are not given have the values of the
        translator to fine-tune, or their defaults.

    Raises:
        ValueError: If an option has an invalid value.
    """
    given = arguments.__dict__
    options = {name: given[name] for name in OPTIONS if name in given}
    if "columns" in options:  # 0,1 or 0 1, or numbers of a file
        columns = options["columns"]
        columns = columns if isinstance(columns, list) else [columns]
        words = ",".join(map(str, columns)).split(",")
        numbers = (int(x) if x.strip().isdecimal() else x for x in words)
        options["columns"] = tuple(numbers)
    if arguments.init is not None:
        options = {**fixed_options(arguments.init), **options}
    return Recipe(**options)


def read_config(file: Path) -> dict:
    """Read options of `train` from a TOML file.

    Args:
        file: The file, with the names of options.

    Returns:
        The options.

    Raises:
        ValueError: If a name is unknown or appears twice, or the file is not
            valid TOML.
    """
    with open_to_read(file) as content:
        found = tomllib.load(content)
    names = Counter(name.replace("-", "_") for name in found)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} appears twice, with - and with _")
    found = {name.replace("-", "_"): x for name, x in found.items()}
    if not found.keys() <= OPTIONS.keys():
        raise ValueError(
            f"{min(found.keys() - OPTIONS.keys())!r} is not one of "
            f"{', '.join(OPTIONS)}"
        )
    return found
