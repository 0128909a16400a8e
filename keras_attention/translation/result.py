"""Translations, as Python text and NumPy arrays."""

from typing import NamedTuple

import numpy as np


class Translation(NamedTuple):
    """Translations of sentences, in their order.

    Attributes:
        texts: A string a sentence; a list of them, best first, if the search
            gives several.
        scores: Their scores, or `None` if not asked for.
        source_tokens: A list of tokens a sentence, start and end included:
            one for each column of its attention. `None` if not asked for.
        target_tokens: A list of tokens a text, without the start, with the
            end: one for each row of its attention. `None` if not asked for.
        attention: An array `(T, Tv)` a text: one a sentence, or a list of
            `N` of them, each with its own `T`, if the search gives several.
            `None` if not asked for. A sentence's entry is `None` if the model
            does not attend.
        token_scores: An array `(T,)` a text: the model's log probability of
            each of its target tokens, which without penalties add up to its
            score. `None` if not asked for.
        unknown: For each sentence a list of the characters, words, or pieces
            that the source tokenizer does not know, so that the model has
            never seen them. `None` if the source is features, or scored.
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
    """Join the translations of sentences, and drop what was not asked for.

    Args:
        entries: The `Translation` of each sentence.
        scores: Whether scores are asked for.
        attention: Whether tokens and attention are asked for.
        token_scores: Whether target tokens and their scores are asked for.

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
