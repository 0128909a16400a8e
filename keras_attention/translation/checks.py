"""Check the components of a translator, and required phrases."""

import warnings
from collections.abc import Iterable

import numpy as np

from keras_attention.checks import check_count
from keras_attention.checks import check_object
from keras_attention.models import AbstractModel
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import ParallelTokenizer
from keras_attention.text import as_texts
from keras_attention.text import check_shared
from keras_attention.translation.result import Translation

Phrases = list[list[str]]


def check_translator(
    model: AbstractModel,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
) -> AbstractModel:
    """Raise a `ValueError` unless the components of a translator fit together.

    Args:
        model: Must be an `AbstractModel`, such as a `Seq2Seq`.
        source_tokenizer: Must be a tokenizer whose ids the model knows. If
            the model copies words, both tokenizers must have all of its ids.
            `None` for a model that reads features.
        target_tokenizer: The same for the target.
        search: Must be a search strategy.

    Returns:
        The model, or its `reading_apart` if there are several source
        tokenizers.
    """
    check_object(
        "model", model, AbstractModel, "Pass a Seq2Seq or an Ensemble."
    )
    check_object("search", search, AbstractSearch, "Pass a `BeamSearch(5)`.")
    if isinstance(source_tokenizer, ParallelTokenizer):
        model = model.reading_apart()
    reads_features = model.source_vocabulary_size is None
    if source_tokenizer is not None or not reads_features:
        _check_side("source", source_tokenizer, model)
    _check_side("target", target_tokenizer, model)
    if model.source_ids:
        check_shared("Translator", source_tokenizer, target_tokenizer)
    return model


def check_attends(weights):
    """Raise a `ValueError` where `replace_unknown` has no weights to go by.

    Args:
        weights: The weights of a `Generation`, or `None`.
    """
    if weights is None:
        raise ValueError(
            "`replace_unknown` needs a model with attention. Received: "
            "replace_unknown=True without attention. Leave it out."
        )


def _check_side(side, tokenizer, model):
    name = f"{side}_tokenizer"
    way_out = "Create one, such as `WordTokenizer.train(sentences, 8000)`."
    check_object(name, tokenizer, AbstractTokenizer, way_out)
    sizes = getattr(model, f"{side}_vocabulary_size")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if len(tokenizer.parts) != len(sizes):
        raise ValueError(
            f"`{name}` must be one tokenizer, or one per member of an "
            f"ensemble for its source. Received: {len(tokenizer.parts)} "
            f"tokenizers, and {type(model).__name__} with {len(sizes)}."
        )
    pairs = zip(tokenizer.parts, sizes, strict=True)
    for number, (part, size) in enumerate(pairs):
        known = part.vocabulary_size
        copies = model.source_ids and not number
        if size is None or known > size or (copies and known < size):
            raise ValueError(
                f"`{name}` must not have more ids than the model, and must "
                "have all of its ids if the model copies words. Received: "
                f"vocabulary_size={known}, the "
                f"model's {side}_vocabulary_size={size}"
                + (f", of its model {number}." if len(sizes) > 1 else ".")
            )


def read_phrases(
    required: Iterable[Iterable[str | bytes]],
    count: int,
    search: AbstractSearch,
) -> Phrases:
    """Read the phrases of each sentence.

    Args:
        required: A list of phrases per sentence.
        count: Number of sentences.
        search: The search, which must be a `BeamSearch`.

    Raises:
        ValueError: If `search` is not a `BeamSearch`, or if `required` does
            not have one list per sentence.
    """
    way_out = "`required` needs several beams: BeamSearch(10)."
    check_object("search", search, BeamSearch, way_out)
    rows, needed = list(required), "one list of phrases per sentence, or []"
    check_count(needed, "required", rows, "sentences", range(count))
    return [as_texts(f"required[{i}]", row) for i, row in enumerate(rows)]


def warn_of_missing(
    entries: list[Translation],
    phrases: Phrases | None,
    search: AbstractSearch,
):
    """Warn about sentences without a translation that meets all constraints."""
    scores = [np.max(entry.scores) for entry in entries]
    lacking = np.flatnonzero(np.isneginf(scores))
    if lacking.size:
        asked = "" if phrases is None else " that contains `required`"
        warnings.warn(
            f"Translator finds no translation{asked} for {lacking.size} of "
            f"{len(entries)} sentences within max_length={search.max_length}: "
            "they are empty, and their scores are -inf. The first is "
            f"sentences[{lacking[0]}]. Raise `max_length` and `beam_size`, "
            "and check for words that are not in the target vocabulary and "
            "for model weights that are NaN.",
            stacklevel=3,
        )
