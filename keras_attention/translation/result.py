"""What a translation graph gives, as Python text and NumPy arrays."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_attention.text.tensors import as_text


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
    """

    texts: list[str] | list[list[str]]
    scores: list[float] | list[list[float]] | None = None
    source_tokens: list[list[str]] | None = None
    target_tokens: list[list[str]] | list[list[list[str]]] | None = None
    attention: list[np.ndarray | list[np.ndarray] | None] | None = None
    token_scores: list[np.ndarray] | list[list[np.ndarray]] | None = None


def read_answers(answer: dict) -> Iterator[Translation]:
    """Turn the arrays of a batch into text and numbers.

    Args:
        answer: The outputs of a `TranslationGraph`.

    Yields:
        A `Translation` for each sentence, with its entries alone.
    """
    answer = {name: np.asarray(x) for name, x in answer.items()}
    for k in range(len(answer["scores"])):
        yield _read_row({name: x[k] for name, x in answer.items()})


def _read_row(answer):
    found = {
        "texts": [as_text(text) for text in answer["translations"]],
        "scores": answer["scores"].tolist(),
    }
    source = _tokens(answer.get("source_tokens", ()))
    if "target_tokens" in answer:
        targets = [_tokens(row) for row in answer["target_tokens"]]
        found["target_tokens"] = targets
        for name in {"attention", "token_scores"} & answer.keys():
            rows = zip(answer[name], targets, strict=True)
            found[name] = [x[: len(tokens)] for x, tokens in rows]
    if "attention" in found and source:
        found["attention"] = [x[:, : len(source)] for x in found["attention"]]
    if len(found["texts"]) == 1:
        found = {name: column[0] for name, column in found.items()}
    return Translation(source_tokens=source or None, **found)


def join_entries(
    entries: list[Translation],
    scores: bool,
    attention: bool,
    token_scores: bool = False,
) -> Translation:
    """Join the translations of sentences, and drop what was not asked for.

    Args:
        entries: What `read_answers` gave for each sentence.
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
    }
    return Translation(**{k: column(k) for k, yes in asked.items() if yes})


def _tokens(row) -> list[str]:
    """Name the tokens of a row; the name of padding is empty."""
    return [as_text(token) for token in row if token]
