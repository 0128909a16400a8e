"""What is decided about a translator and its training, without Keras.

The fields of `Recipe` are the only list of options: the command reads its
arguments from them before anything slow is imported, and the documentation is
compared with them.
"""

import json
import tomllib
from collections.abc import Callable
from collections.abc import Sequence
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
    """Return the field of an option, such as one of `Recipe`.

    Args:
        default: Its default; `None` if it depends on other things.
        kind: What a shell's word is turned into; a flag if it is `bool`.
        check: Function of the name and a value, unless that is `None` and the
            default, which raises a `ValueError`. It may have `choices`.
        about: What it does, in a clause.
        shown: How the default is described, unless it is a value.

    Returns:
        The field of a dataclass, with `metadata`.
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
    check = partial(check_object, kind=bool, way_out="Give True or False.")
    return option(False, bool, check, about)


def _choice(default, choices: Sequence[str], about):
    return option(default, str, partial(check_choice, choices=choices), about)


def _number(default, about, shown="", **range_):
    return option(default, int, partial(check_integer, **range_), about, shown)


def _check_columns(name, value):
    for x in check_list(name, value, "numbers"):
        check_integer(name, x, 0)


@dataclass(frozen=True)
class Recipe:
    """Holds what is decided about a translator and its training.

    The defaults are for spelling, sounds and inflection: 500 to 20,000 short
    texts of small vocabularies. Embeddings, each direction of the LSTM encoder
    and attention have `units`, the LSTM decoder twice as many; the output is
    tied to the embeddings, unless the attention is a hard one. It is trained
    by Adam with a rate that falls as a cosine, 0.1 of label smoothing, averaged
    weights, and batches of 8 lengths; the best epoch is kept.

    Its arguments are the options of `keras-attention train`, with `_` for `-`.
    Those with a default that is described have the default `None`.
    """

    header: bool = _flag("skip the first line of each file")
    lowercase: bool = _flag("convert both sides to lower case, except symbols")
    max_length: int | None = _number(
        None,
        "leave out pairs with more tokens on a side, start and end included",
        "four times the length that 99% of the pairs do not exceed, at least "
        "50",
        least=3,
    )
    source_tokenizer: str = _choice(
        "character",
        TOKENIZER_NAMES,
        "what the source is split into; word has at most 8,000 entries, "
        "sentencepiece 1,000",
    )
    target_tokenizer: str = _choice(
        "character", TOKENIZER_NAMES, "what the target is split into"
    )
    normalization: str = _choice(
        "nfc",
        NORMALIZATIONS,
        "Unicode form of the source, except symbols; nfd cuts Hangul into "
        "letters",
    )
    columns: tuple[int, int] = option(
        (0, 1),
        str,
        _check_columns,
        "zero-based indices of the source and target columns",
    )
    features: int | None = _number(
        None,
        "zero-based index of a column of tags, such as morphological features; "
        "translate then reads a source, a tab, and tags",
        least=0,
    )
    features_separator: str = option(
        ";", str, check_separator, "separator between two tags"
    )
    attention: str = _choice("additive", ATTENTION_NAMES, "attention mechanism")
    order: str = _choice(
        "luong",
        ("luong", "bahdanau"),
        "attend after the decoder's step (luong), or before",
    )
    units: int = _number(
        128, "size of all layers; the decoder has twice as many"
    )
    layers: int = _number(1, "LSTM layers of encoder and decoder")
    dropout: float = option(
        0.3, float, check_rate, "dropout rate of embeddings and outputs"
    )
    epochs: int | None = _number(
        None, "maximum number of epochs", "2,000 batches, at least 40 epochs"
    )
    patience: int | None = _number(
        None,
        "stop after this many epochs without a better one",
        "a third of the epochs, at least 10",
    )
    batch_size: int = _number(64, "maximum number of pairs per batch")
    max_tokens: int | None = _number(
        None,
        "maximum number of source or target tokens per batch, with padding; "
        "batches of long pairs have fewer pairs, which bounds the memory",
        "256 times the batch size",
    )
    rate: float = option(
        0.002, float, partial(check_number, above=0), "initial learning rate"
    )
    metric: str = _choice(
        "accuracy",
        METRICS,
        "metric that decides which epoch is the best one",
    )
    beam_size: int = _number(5, "beam width of the search")
    seed: int = _number(
        0,
        "random seed of weights, dropout, and order",
        least=0,
        most=2**32 - 1,
    )
    members: int = _number(
        1,
        "train this many models, with the random seeds seed, seed + 1, ..., "
        "and save their ensemble",
    )
    distill: bool = _flag(
        "with --members: save one more model of the same size instead, which "
        "learns from the ensemble; add --unlabeled if you can"
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
                "distill=True, members=1. Set `members`, such as to 3."
            )
        if len(self.columns) != 2 or self.features in self.columns:
            raise ValueError(
                "`columns` needs two columns, neither of them that of the "
                f"features. Received: columns={self.columns}, features="
                f"{self.features}. They are counted from 0."
            )

    def to_toml(self) -> str:
        """Write the recipe as TOML, a name a line."""
        given = {k: v for k, v in asdict(self).items() if v is not None}
        values = {
            k: json.dumps(v, ensure_ascii=False) for k, v in given.items()
        }
        return "".join(f"{name} = {value}\n" for name, value in values.items())


def _document(recipe):
    """Add the fields to the docstring of a class of options."""
    rows = [
        f"\n        {x.name}: {x.metadata['about']}" for x in fields(recipe)
    ]
    rows = "".join(rows)
    recipe.__doc__ = f"{recipe.__doc__}\n    Attributes:{rows}\n    "


_document(Recipe)


def fixed_options(folder: str | Path) -> dict[str, Any]:
    """Return the options that cannot differ when fine-tuning a translator.

    Args:
        folder: A saved translator, with the `recipe.toml` of its training. If
            it has none, the options are the defaults.

    Returns:
        The options, by their names in `Recipe`.
    """
    file, found = Path(folder) / NOTE, {}
    if file.is_file():
        with reading(file, "Fine-tuning needs the recipe that train wrote."):
            found = tomllib.loads(file.read_text(encoding="utf-8"))
    defaults = {field.name: field.default for field in fields(Recipe)}
    return {name: found.get(name, defaults[name]) for name in FIXED}
