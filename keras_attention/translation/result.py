"""The result of a translation, as strings and NumPy arrays."""

from typing import NamedTuple

import numpy as np


class Translation(NamedTuple):
    """Translations of sentences, in input order.

    Each attribute has one item per sentence. If the search returns several
    hypotheses, an item of `texts`, `scores`, `target_tokens`, `attention` and
    `token_scores` is a list with one entry per hypothesis, best first.
    Attributes that you did not request are `None`.

    Attributes:
        texts: The translation, a string.
        scores: The score of the translation.
        source_tokens: The source tokens, including the start and end tokens:
            one for each column of the attention weights.
        target_tokens: The target tokens, without the start token but with the
            end token: one for each row of the attention weights.
        attention: Attention weights `(T, Tv)`. `None` if the model has no
            attention.
        token_scores: An array `(T,)` with the log probability of each target
            token. Without penalties, the score is the sum of these numbers.
        unknown: The characters, words or pieces that are not in the source
            vocabulary, so that the model has never seen them. `None` if the
            source consists of features, or for `Translator.score`.
    """

    texts: list[str] | list[list[str]]
    scores: list[float] | list[list[float]] | None = None
    source_tokens: list[list[str]] | None = None
    target_tokens: list[list[str]] | list[list[list[str]]] | None = None
    attention: list[np.ndarray | list[np.ndarray] | None] | None = None
    token_scores: list[np.ndarray] | list[list[np.ndarray]] | None = None
    unknown: list[list[str]] | None = None


def join_entries(
    entries: list[Translation],
    scores: bool,
    attention: bool,
    token_scores: bool = False,
) -> Translation:
    """Join the translations of sentences, and keep only requested fields.

    Args:
        entries: The `Translation` of each sentence.
        scores: Whether to keep scores.
        attention: Whether to keep tokens and attention.
        token_scores: Whether to keep target tokens and token scores.

    Returns:
        A `Translation` whose fields are lists over the sentences.
    """

    def column(name):
        return [getattr(entry, name) for entry in entries]

    asked = {
        "texts": True,
        "scores": scores,
        "source_tokens": attention
        and all(entry.source_tokens is not None for entry in entries),
        "target_tokens": attention or token_scores,
        "attention": attention,
        "token_scores": token_scores,
        "unknown": all(entry.unknown is not None for entry in entries),
    }
    return Translation(**{k: column(k) for k, yes in asked.items() if yes})
