"""What `train` takes: read before anything slow is imported."""

import argparse
import tomllib
from collections.abc import Callable
from pathlib import Path

from keras_attention.files import open_to_read

SCORES = ("bleu", "chrf", "ter", "wer", "per", "cer", "ser", "accuracy")
METAVARS = {str: "NAME", int: "N", float: "R"}
TOKENIZERS = "character", "symbol", "word", "sentencepiece"
ATTENTIONS = (
    *("additive", "general", "location_aware", "coverage", "entmax15"),
    *("sparsemax", "monotonic", "forward", "chunkwise", "hard"),
    "hard_monotonic",
)
RECIPE = {  # of a `Recipe`: a type or choices, and what it is
    "header": (bool, "skip the first line of each file"),
    "lowercase": (bool, "convert both sides to lower case, except symbols"),
    "max_length": (
        int,
        "leave out pairs with more tokens on a side (default: four times the "
        "length that 99%% of the pairs do not exceed, at least 50)",
    ),
    "source_tokenizer": (
        TOKENIZERS,
        "what the source is split into (default: character)",
    ),
    "target_tokenizer": (
        TOKENIZERS,
        "what the target is split into (default: character)",
    ),
    "normalization": (str, "Unicode form of the source (default: nfc)"),
    "columns": (
        str,
        "zero-based indices of the source and target columns (default: 0,1)",
    ),
    "features": (
        int,
        "zero-based index of a column of tags, such as morphological features; "
        "translate then reads a source, a tab, and tags",
    ),
    "features_separator": (str, "separator between two tags (default: ;)"),
    "attention": (ATTENTIONS, "attention mechanism (default: additive)"),
    "order": (
        ("luong", "bahdanau"),
        "attend after the decoder's step (luong), or before (default: luong)",
    ),
    "units": (
        int,
        "size of all layers; the decoder has twice as many (default: 128)",
    ),
    "layers": (int, "LSTM layers of encoder and decoder (default: 1)"),
    "dropout": (
        float,
        "dropout rate of embeddings and outputs (default: 0.3)",
    ),
    "epochs": (
        int,
        "maximum number of epochs (default: 2,000 batches, at least 40 epochs)",
    ),
    "patience": (
        int,
        "stop after this many epochs without a better one (default: a third "
        "of the epochs, at least 10)",
    ),
    "batch_size": (int, "maximum number of pairs per batch (default: 64)"),
    "max_tokens": (
        int,
        "maximum number of source or target tokens per batch, with padding; "
        "batches of long pairs have fewer pairs, which bounds the memory "
        "(default: 256 times the batch size)",
    ),
    "rate": (float, "initial learning rate (default: 0.002)"),
    "metric": (
        SCORES,
        "metric that decides which epoch is the best one (default: accuracy)",
    ),
    "beam_size": (int, "beam width of the search (default: 5)"),
    "seed": (int, "random seed of weights, dropout, and order (default: 0)"),
    "members": (
        int,
        "train this many models, with the random seeds seed, seed + 1, ..., "
        "and save their ensemble (default: 1)",
    ),
    "distill": (
        bool,
        "with --members: save one more model of the same size instead, which "
        "learns from the ensemble; add --unlabeled if you can",
    ),
}


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
    for name, (kind, about) in RECIPE.items():
        option, options = f"--{name.replace('_', '-')}", {}
        if kind is bool:
            options["action"] = "store_true"
        elif isinstance(kind, tuple):
            options["choices"] = kind
        else:
            options |= {"type": kind, "metavar": METAVARS[kind]}
        if name == "columns":
            options["nargs"] = "+"
        add(option, default=argparse.SUPPRESS, help=about, **options)


def read_config(file: Path) -> dict:
    """Read options of `train` from a TOML file.

    Args:
        file: The file, with the names of `RECIPE`.

    Returns:
        The options.

    Raises:
        ValueError: If there is another name, or it is no TOML.
    """
    with open_to_read(file) as content:
        found = tomllib.load(content)
    found = {name.replace("-", "_"): x for name, x in found.items()}
    if not found.keys() <= RECIPE.keys():
        raise ValueError(
            f"it has {min(found.keys() - RECIPE.keys())!r}, which is none of "
            f"{', '.join(RECIPE)}"
        )
    return found
