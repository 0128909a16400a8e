"""What `train` takes: read before anything slow is imported."""

import argparse
import tomllib
from collections.abc import Callable
from dataclasses import Field
from dataclasses import fields
from pathlib import Path

from keras_attention.files import open_to_read
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.options import fixed_options

METAVARS = {str: "NAME", int: "N", float: "R"}
OPTIONS = {x.name: x for x in fields(Recipe)}


def add_train_arguments(add: Callable):
    """Add the arguments of `train` to a parser.

    Args:
        add: The method `add_argument` of the parser.
    """
    pairs = "training set: a tab-separated file, or two parallel text files"
    add("files", nargs="+", type=Path, metavar="FILE", help=pairs)
    same = "validation set, likewise; it decides which epoch is the best one"
    add(
        "--validation",
        required=True,
        nargs="+",
        type=Path,
        metavar="FILE",
        help=same,
    )
    out = "folder to save the translator in, with a report"
    add("--output", "-o", required=True, metavar="FOLDER", help=out)
    config = "read options from a TOML file; those given here override it"
    add("--config", type=Path, metavar="FILE", help=config)
    init = (
        "fine-tune this saved translator: add new tokens to its vocabularies "
    )
    init += "and train all weights on the given pairs"
    add("--init", type=Path, metavar="FOLDER", help=init)
    add(
        "--unlabeled",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --distill: files with a source per line, without targets; "
        "the ensemble writes their targets",
    )
    quiet = "print nothing but warnings and errors"
    add("--quiet", action="store_true", help=quiet)
    for option in OPTIONS.values():
        _add_option(add, option)


def _add_option(add: Callable, option: Field):
    """Add an option of the recipe, which has no default."""
    kind, choices = option.metadata["kind"], option.metadata["choices"]
    if kind is bool:
        how = {"action": "store_true"}
    elif choices is not None:
        how = {"choices": choices}
    else:
        how = {"type": kind, "metavar": METAVARS[kind]}
    if option.name == "columns":
        how["nargs"] = "+"
    name = f"--{option.name.replace('_', '-')}"
    about = option.metadata["about"].replace("%", "%%")
    add(name, default=argparse.SUPPRESS, help=about, **how)


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """Make the recipe of a command line.

    Args:
        arguments: What was read.

    Returns:
        The recipe. Options that it does not have are those of the translator
        that is fine-tuned, or the defaults.

    Raises:
        ValueError: If an option has a value that does not fit.
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
        ValueError: If there is another name, or it is no TOML.
    """
    with open_to_read(file) as content:
        found = tomllib.load(content)
    found = {name.replace("-", "_"): x for name, x in found.items()}
    if not found.keys() <= OPTIONS.keys():
        raise ValueError(
            f"it has {min(found.keys() - OPTIONS.keys())!r}, which is none of "
            f"{', '.join(OPTIONS)}"
        )
    return found
