"""The texts of a training, and tokenizers for them."""

import warnings
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_attention.models import AbstractModel
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.pairs import TrainingPairs
from keras_attention.recipe.pairs import read_training_pairs
from keras_attention.steps.tags import TAB
from keras_attention.steps.tags import split_tags
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.translator import Translator

USUAL, TIMES, SHORT = 99, 4, 50  # per cent, times their longest; tokens
TOKENIZERS = {
    "character": lambda texts, **options: CharacterTokenizer.train(
        texts, 2**20, **options
    ),
    "symbol": lambda texts, **_: SymbolTokenizer.train(texts),
    "word": lambda texts, **options: WordTokenizer.train(
        texts, 8000, **options
    ),
    "sentencepiece": lambda texts, **options: SentencePieceTokenizer.train(
        texts, 1000, **options
    ),
}


class TrainingTexts(NamedTuple):
    """The data that a translator is trained on.

    Attributes:
        train: Sources and targets of the training set.
        validation: Sources and targets of the validation set.
        references: Targets of `validation`, normalized by the tokenizer.
        tokenizers: The source and target tokenizers.
        note: A TOML comment with a digest of the texts.
        start: The translator to fine-tune, if there is one.
        teacher: The model to distill, if there is one.
        temperature: The temperature of the distillation.
    """

    train: tuple[list[str], list[str]]
    validation: tuple[list[str], list[str]]
    references: list[str]
    tokenizers: tuple[AbstractTokenizer, AbstractTokenizer]
    note: str
    start: Translator | None = None
    teacher: AbstractModel | None = None
    temperature: float = 1.0


def read_texts(
    files: Sequence[str | Path], recipe: Recipe
) -> tuple[list[str], list[str]]:
    """Read sources and targets.

    Args:
        files: One tab-separated file, or a source file and a target file.
        recipe: The recipe, which selects columns. With `features`, tags
            follow each source after a tab.

    Returns:
        Sources and targets.

    Raises:
        ValueError: If the number of files is wrong, or a file is invalid.
    """
    return sides(read_files(files, recipe))


def read_files(files: Sequence[str | Path], recipe: Recipe) -> TrainingPairs:
    """Read pairs with their line numbers, like `read_texts`.

    Args:
        files: As in `read_texts`.
        recipe: As in `read_texts`.

    Returns:
        The pairs.
    """
    features = [] if recipe.features is None else [recipe.features]
    if len(files) != 1 and (len(files) != 2 or features):
        raise ValueError(
            "Training needs one tab-separated file, or a source file and a "
            "target file; `features` requires a tab-separated file. Received: "
            f"{len(files)} files, features={recipe.features}. Combine them in "
            "one tab-separated file."
        )
    columns = *recipe.columns, *features
    return read_training_pairs(files, columns, recipe.header)


def sides(pairs: TrainingPairs) -> tuple[list[str], list[str]]:
    """Return sources, followed by a tab and tags if there are any, and targets.

    Args:
        pairs: The pairs.
    """
    sources, targets, *tags = pairs.columns
    return [*map(TAB.join, zip(sources, *tags, strict=True))], targets


def fit_tokenizers(
    read: list[TrainingPairs],
    recipe: Recipe,
    note: str,
    report: Callable[[str], None],
    start: Translator | None = None,
) -> TrainingTexts:
    """Train or extend tokenizers, and drop pairs that are too long.

    Args:
        read: The pairs of training set and validation set.
        recipe: The recipe, with tokenizers and maximum length.
        note: The `note` of the result.
        report: Function that is called with lines of text.
        start: A translator whose tokenizers are extended. Defaults to `None`.

    Returns:
        The remaining texts with their tokenizers.
    """

    def make(pairs):
        if start is None:
            return make_tokenizers(*sides(pairs), recipe)
        found = start.extended(sides(pairs))
        return found.source_tokenizer, found.target_tokenizer

    tokenizers = make(read[0])
    lengths = [_lengths(x, tokenizers) for x in read]
    fits = _short_enough(read, lengths, recipe.max_length)
    train, validation = (x.select(y) for x, y in zip(read, fits, strict=True))
    if len(train.lines) < len(read[0].lines):
        tokenizers = make(train)
    for pairs, some, length in zip(
        (train, validation), fits, lengths, strict=True
    ):
        report(
            f"{pairs.name}: {len(pairs.lines)} pairs, at most "
            f"{length[some].max()} tokens per side"
        )
    sizes = "{} source and {} target tokens".format(
        *(len(x.vocabulary) for x in tokenizers)
    )
    report(f"Vocabulary: {sizes}")
    others = sides(validation)
    references = as_written(tokenizers[1], others[1], report)
    given = sides(train), others, references, tokenizers
    return TrainingTexts(*given, note, start)


def _short_enough(read, lengths, limit):
    """Find pairs that are not too long, and warn about the others."""
    if limit is None:
        usual = np.percentile(lengths[0], USUAL, method="lower")
        limit = max(SHORT, TIMES * int(usual))
    fits = [np.flatnonzero(x <= limit) for x in lengths]
    for pairs, some in zip(read, fits, strict=True):
        left_out = sorted({*range(len(pairs.lines))} - {*some})
        if len(some) == 0:
            raise ValueError(
                f"`max_length` must keep at least one pair of {pairs.name}. "
                f"Received: max_length={limit}. Raise it."
            )
        if left_out:
            warnings.warn(
                f"{pairs.name}: pairs with more than {limit} tokens are "
                f"dropped. Number of such pairs: {len(left_out)}. The first is "
                "line "
                f"{pairs.lines[left_out[0]]}. Raise `max_length` "
                "(`--max-length`) to train on them.",
                stacklevel=4,
            )
    return fits


def _lengths(pairs, tokenizers):
    """Count the tokens of the longer side of each pair."""
    counts = [
        np.asarray(x.count(y))
        for x, y in zip(tokenizers, sides(pairs), strict=True)
    ]
    return np.maximum(*counts)


def as_written(
    tokenizer: AbstractTokenizer,
    texts: list[str],
    report: Callable[[str], None],
) -> list[str]:
    """Normalize texts by a tokenizer, except texts with unknown tokens.

    Args:
        tokenizer: The tokenizer.
        texts: The texts.
        report: Function that is called with a line of text if one differs.

    Returns:
        The texts after tokenization and detokenization.
    """
    written = [tokenizer.write(tokenizer.read(x).ids) for x in texts]
    pairs = zip(texts, written, tokenizer.unknown(texts), strict=True)
    found = [old if lost else new for old, new, lost in pairs]
    other = [
        pair for pair in zip(texts, found, strict=True) if len({*pair}) > 1
    ]
    if other:
        report(
            f"{len(other)} of {len(texts)} references are normalized by the "
            "tokenizer, such as {0!a} to {1!a}".format(*other[0])
        )
    return found


def make_tokenizers(
    sources: list[str], targets: list[str], recipe: Recipe
) -> tuple[AbstractTokenizer, AbstractTokenizer]:
    """Train the tokenizers of both sides.

    Args:
        sources: The sources.
        targets: Their targets.
        recipe: The recipe, with the types of tokenizers.

    Returns:
        The source and target tokenizers.
    """
    rows = [text.partition(TAB) for text in sources]
    if recipe.features is not None:
        sources = [text for text, *_ in rows]
    low = {"lowercase": recipe.lowercase}
    source = TOKENIZERS[recipe.source_tokenizer](
        sources, normalization=recipe.normalization, **low
    )
    target = TOKENIZERS[recipe.target_tokenizer](
        targets, normalization="nfc", **low
    )
    if recipe.features is not None:
        separator = recipe.features_separator
        tags = {tag for *_, x in rows for tag in split_tags(x, separator)}
        source = TaggedTokenizer(source, sorted(tags), separator)
    return source, target
