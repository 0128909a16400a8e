"""Ids for unknown words: their places in the source, for models that copy."""

from collections.abc import Sequence

from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text.base import AbstractTokenizer


def check_shared(
    needed_by: str,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
):
    """Raise a `ValueError` unless both have the same vocabulary.

    Args:
        needed_by: What copies, as the user typed it.
        source_tokenizer: The tokenizer of the source.
        target_tokenizer: The tokenizer of the target.
    """
    same = source_tokenizer is target_tokenizer
    if not (same or source_tokenizer.vocabulary == target_tokenizer.vocabulary):
        raise ValueError(
            f"{needed_by} needs one vocabulary for source and target, to copy "
            "words from one to the other. Received: two that differ, of "
            f"{source_tokenizer.vocabulary_size} and "
            f"{target_tokenizer.vocabulary_size} ids. Train one tokenizer on "
            "both sides, `train([*source_files, *target_files], ...)`."
        )


def copied_ids(
    ids: Sequence[int],
    words: Sequence[str],
    source_words: Sequence[str],
    vocabulary_size: int,
) -> list[int]:
    """Give unknown words the ids of their places in a source.

    Args:
        ids: Those of a source, or of its target.
        words: The word behind each id.
        source_words: The word at each place of the source, the start at 0;
            `""` where there is none.
        vocabulary_size: The number `V` of ids in the vocabulary.

    Returns:
        The ids; `V + j` for an unknown word that the source first has at
        place `j`. An unknown word that is not in the source stays unknown.
    """
    if UNKNOWN not in ids:
        return [*ids]
    places = {
        word: place for place, word in reversed([*enumerate(source_words)])
    }
    return [
        vocabulary_size + places[word]
        if id_ == UNKNOWN and word in places
        else id_
        for id_, word in zip(ids, words, strict=True)
    ]
