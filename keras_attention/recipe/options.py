"""The options of a translator and its training, without Keras.

The fields of `Recipe` are the only list of options: the command creates its
arguments from them before anything slow is imported, and a test compares the
documentation with them.
"""

import json
import tomllib
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.checks import check_number
from keras_attention.checks import check_object
from keras_attention.checks import check_rate
from keras_attention.checks import check_separator
from keras_attention.files import reading
from keras_attention.steps.primitives import NORMALIZATIONS

NOTE = "recipe.toml"
FIXED = (  # what tokenizers and weights depend on
    *("source_tokenizer", "target_tokenizer", "normalization", "lowercase"),
    *("features_separator", "attention", "order", "units", "layers", "dropout"),
)
# Names, for which `model.py` and `texts.py` have what needs Keras.
TOKENIZER_NAMES = "character", "symbol", "word", "sentencepiece"
ATTENTION_NAMES = (
    *("additive", "general", "location_aware", "coverage", "entmax15"),
    *("sparsemax", "monotonic", "forward", "chunkwise", "hard"),
    "hard_monotonic",
)
METRICS = "bleu", "chrf", "ter", "wer", "per", "cer", "ser", "accuracy"


def option(
    default: Any, kind: type, check: Callable, about: str, shown: str = ""
) -> Any:
    """Return the dataclass field of an option.

    Args:
        default: The default; `None` if it depends on other values.
        kind: The type that a command-line argument is converted to; a flag if
            it is `bool`.
        check: Function of the name and a value that raises a `ValueError`. It
            is not called if both value and default are `None`. It may have
            `choices`.
        about: What the option does, in a clause.
        shown: The description of a default that is not a value.

    Returns:
        The field, with `metadata`.
    """
    if default is not None and kind is not bool:
        shown = str(default)
        if isinstance(default, tuple):
            shown = ",".join(map(str, default))
    return field(
        default=default,
        metadata={
            "kind": kind,
            "check": check,
            "choices": getattr(check, "keywords", {}).get("choices"),
            "about": about + (f" (default: {shown})" if shown else ""),
        },
    )


def _flag(about):
    check = partial(check_object, kind=bool, way_out="Pass True or False.")
    return option(False, bool, check, about)


def _choice(default, choices: Sequence[str], about):
    return option(default, str, partial(check_choice, choices=choices), about)


def _number(default, about, shown="", **range_):
    return option(default, int, partial(check_integer, **range_), about, shown)


def _check_columns(name, value):
    if isinstance(value, Set | Mapping):
        raise ValueError(
            f"`{name}` must be a pair, whose first number is the index of the "
            f"source. Received: {name}={value!r}, which has no order. Pass a "
            "pair, such as (0, 1)."
        )
    for x in check_list(name, value, "numbers"):
        check_integer(name, x, 0)


@dataclass(frozen=True)
class Recipe:
    """The options of a translator and its training.

    The defaults suit spelling, pronunciation and inflection: 500 to 20,000
    short texts with small vocabularies. Embeddings, each direction of the LSTM
    encoder, and attention have `units` units, and the LSTM decoder has twice as
    many. The output layer shares the weights of the target embedding, except
    with hard attention. Training uses Adam with a cosine decay of the learning
    rate, label smoothing of 0.1, exponential moving averages of the weights,
    and batches that are padded to one of at most eight lengths. The translator
    has the weights of the best epoch.

    The arguments are the options of `keras-attention train`, with `_` instead
    of `-`. If a default depends on other values, the argument is `None`, and
    the default is described below.
    """

    header: bool = _flag("skip the first line of each file")
    lowercase: bool = _flag(
        "lowercase source and target (no effect with the tokenizer symbol)"
    )
    max_length: int | None = _number(
        None,
        "drop pairs with more than this number of tokens on a side, "
        "including start and end",
        "four times the 99th percentile of lengths, at least 50",
        least=3,
    )
    source_tokenizer: str = _choice(
        "character",
        TOKENIZER_NAMES,
        "source tokenizer; a word vocabulary has at most 8,000 entries, a "
        "sentencepiece vocabulary at most 1,000",
    )
    target_tokenizer: str = _choice(
        "character", TOKENIZER_NAMES, "target tokenizer"
    )
    normalization: str = _choice(
        "nfc",
        NORMALIZATIONS,
        "Unicode normalization of the source (no effect with the tokenizer "
        "symbol); nfd splits Hangul into letters",
    )
    columns: tuple[int, int] = option(
        (0, 1),
        str,
        _check_columns,
        "zero-based indices of the source and target columns",
    )
    features: int | None = _number(
        None,
        "zero-based index of a column with tags, such as morphological "
        "features; the command translate then reads a source, a tab, and tags",
        least=0,
    )
    features_separator: str = option(
        ";", str, check_separator, "separator between two tags"
    )
    attention: str = _choice("additive", ATTENTION_NAMES, "attention mechanism")
    order: str = _choice(
        "luong",
        ("luong", "bahdanau"),
        "luong attends after the decoder's recurrent step, bahdanau before it",
    )
    units: int = _number(
        128,
        "number of units in embeddings, encoder and attention; the decoder "
        "has twice as many",
    )
    layers: int = _number(1, "number of LSTM layers in encoder and decoder")
    dropout: float = option(
        0.3, float, check_rate, "dropout rate of embeddings and outputs"
    )
    epochs: int | None = _number(
        None,
        "maximum number of epochs",
        "enough for 2,000 batches, at least 40",
    )
    patience: int | None = _number(
        None,
        "stop after this many epochs without improvement",
        "a third of the epochs, at least 10",
    )
    batch_size: int = _number(64, "maximum number of pairs per batch")
    max_tokens: int | None = _number(
        None,
        "maximum number of source tokens, and of target tokens, per batch, "
        "including padding; limits memory, because batches of long pairs "
        "then have fewer pairs",
        "256 times the batch size",
    )
    rate: float = option(
        0.002, float, partial(check_number, above=0), "initial learning rate"
    )
    metric: str = _choice(
        "accuracy",
        METRICS,
        "metric that selects the best epoch",
    )
    beam_size: int = _number(5, "beam width of the search")
    seed: int = _number(
        0,
        "random seed for weights, dropout and shuffling",
        least=0,
        most=2**32 - 1,
    )
    members: int = _number(
        1,
        "train this many models with the random seeds SEED, SEED + 1, ..., "
        "and save their ensemble",
    )
    distill: bool = _flag(
        "with --members: train one more model of the same size that learns "
        "from the ensemble, and save this model instead of the ensemble; add "
        "--unlabeled if you can"
    )

    def __post_init__(self):
        for x in fields(self):
            value = getattr(self, x.name)
            if value is not None or x.default is not None:
                x.metadata["check"](x.name, value)
        check_integer("seed", self.seed, 0, 2**32 - self.members)
        if self.distill and self.members == 1:
            raise ValueError(
                "`distill` needs an ensemble to learn from. Received: "
                "distill=True, members=1. Set `members`, for example to 3."
            )
        if len(self.columns) != 2 or self.features in self.columns:
            raise ValueError(
                "`columns` must be two zero-based column indices other than "
                f"`features`. Received: columns={self.columns}, features="
                f"{self.features}. Choose other columns."
            )

    def to_toml(self) -> str:
        """Return the recipe as TOML, with one option per line."""
        given = {k: v for k, v in asdict(self).items() if v is not None}
        return "".join(f"{k} = {_toml(v)}\n" for k, v in given.items())


def _toml(value):
    """Write a value, where numbers may be those of NumPy."""
    text = json.dumps(value, ensure_ascii=False, default=lambda x: x.item())
    return text.replace("\x7f", r"\u007f")


def _document(recipe):
    """Add the fields to the docstring of a class of options."""
    rows = [
        f"\n        {x.name}: {x.metadata['about']}" for x in fields(recipe)
    ]
    rows = "".join(rows)
    recipe.__doc__ = f"{recipe.__doc__}\n    Attributes:{rows}\n    "


_document(Recipe)


def fixed_options(folder: str | Path) -> dict[str, Any]:
    """Return the options that cannot change when fine-tuning a translator.

    Args:
        folder: A saved translator with the `recipe.toml` of its training.
            Without this file, the options are the defaults.

    Returns:
        The options by name, as in `Recipe`.
    """
    file, found = Path(folder) / NOTE, {}
    if file.is_file():
        with reading(file, "Fine-tuning needs the recipe that train wrote."):
            found = tomllib.loads(file.read_text(encoding="utf-8"))
    defaults = {field.name: field.default for field in fields(Recipe)}
    return {name: found.get(name, defaults[name]) for name in FIXED}
