"""Ids for unknown words that a model can copy from the source."""

from collections.abc import Sequence

from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text.base import AbstractTokenizer


def check_shared(
    needed_by: str,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
):
    """Raise a `ValueError` unless both tokenizers have the same vocabulary.

    Args:
        needed_by: The class or argument that copies, as the user typed it.
        source_tokenizer: The source tokenizer.
        target_tokenizer: The target tokenizer.
    """
    same = source_tokenizer is target_tokenizer
    if not (same or source_tokenizer.vocabulary == target_tokenizer.vocabulary):
        raise ValueError(
            f"{needed_by} needs one vocabulary for source and target, to copy "
            "words. Received: two different vocabularies, with "
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
    """Replace unknown ids by ids that stand for source positions.

    Args:
        ids: The ids of a source, or of its target.
        words: The word of each id.
        source_words: The word at each source position, with the start at 0;
            `""` for positions without a word.
        vocabulary_size: The vocabulary size `V`.

    Returns:
        The ids. An unknown word whose first occurrence in the source is at
        position `j` gets the id `V + j`; other unknown words stay unknown.
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
