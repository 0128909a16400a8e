"""Read phrases that translations must contain."""

import warnings
from collections.abc import Iterable

import numpy as np

from keras_attention.checks import check_count
from keras_attention.checks import check_object
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.text import as_texts
from keras_attention.translation.result import Translation

Phrases = list[list[str]]


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
