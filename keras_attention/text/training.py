"""Train subword vocabularies with `sentencepiece`."""

import io
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.extras import require
from keras_attention.steps.pieces import SPACE
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN

NOT_LEARNED = f" {SPACE}\0\N{LOWER FIVE EIGHTHS BLOCK}"


def check_room(
    class_name: str, vocabulary_size: int, least: int, what: str
) -> int:
    """Return the number of ids of a vocabulary besides the special ids.

    Args:
        class_name: The name of the tokenizer class, for error messages.
        vocabulary_size: Maximum number of ids, including the four special
            ids.
        least: Minimum number of other ids.
        what: What needs these ids, for error messages.

    Returns:
        The maximum number of other ids.

    Raises:
        ValueError: If `vocabulary_size` is not an integer, or too small.
    """
    check_integer("vocabulary_size", vocabulary_size)
    room = int(vocabulary_size) - len(SPECIAL_NAMES)
    if room < least:
        raise ValueError(
            f"`{class_name}.train` needs a `vocabulary_size` of at least "
            f"{len(SPECIAL_NAMES) + least}: the 4 special ids, and ids for "
            f"{what}. Received: vocabulary_size={vocabulary_size}."
        )
    return room


def frequent_characters(
    sentences: Iterable[str], coverage: float, room: int, class_name: str
) -> list[str]:
    """Choose the characters that get an id of their own.

    Args:
        sentences: Normalized sentences.
        coverage: The fraction of the text that these characters cover, in
            `(0, 1]`.
        room: Maximum number of characters.
        class_name: The name of the tokenizer class, for error messages.

    Returns:
        The characters, ordered by frequency; equally frequent characters are
        sorted. Spaces and characters that `sentencepiece` cannot learn are
        excluded.

    Raises:
        ValueError: If `coverage` is not in `(0, 1]`, or the text has no
            characters.
    """
    check_number("character_coverage", coverage, above=0, most=1)
    counts = Counter()
    for sentence in sentences:
        counts.update(sentence)
    for character in NOT_LEARNED:
        counts.pop(character, None)
    if all(character.isspace() for character in counts):
        raise ValueError(
            f"`{class_name}.train` needs text. Received: no characters. Pass "
            "sentences that are not blank."
        )
    ranked = sorted(counts, key=lambda c: (-counts[c], c))[:room]
    before = accumulate((counts[c] for c in ranked), initial=0)
    wanted = sum(counts.values()) * coverage
    return [c for c, n in zip(ranked, before, strict=False) if n < wanted]


def learn_pieces(
    sentences: list[str],
    class_name: str,
    coverage: float,
    most: int,
    vocabulary_size: int,
    model_type: str,
    byte_fallback: bool = False,
) -> tuple[list[str], bytes]:
    """Train a `sentencepiece` model without its normalization.

    Args:
        sentences: Normalized sentences.
        class_name: The name of the tokenizer class, for error messages.
        coverage: As in `frequent_characters`.
        most: Maximum number of characters that pieces consist of.
        vocabulary_size: Maximum number of ids, including the four special
            ids.
        model_type: `"unigram"` or `"bpe"`.
        byte_fallback: Whether every byte gets an id. Defaults to `False`.

    Returns:
        characters: The result of `frequent_characters`.
        model: The content of the model file.
    """
    characters = frequent_characters(sentences, coverage, most, class_name)
    trainer = require("sentencepiece", "sentencepiece", f"{class_name}.train")
    known = {*characters}
    cuts = {ord(c): " " for s in sentences for c in {*s} - known}
    model = io.BytesIO()
    trainer.SentencePieceTrainer.train(
        sentence_iterator=(s.translate(cuts) for s in sentences),
        model_writer=model,
        vocab_size=vocabulary_size,
        hard_vocab_limit=False,
        model_type=model_type,
        byte_fallback=byte_fallback,
        pad_id=PAD,
        unk_id=UNKNOWN,
        bos_id=START,
        eos_id=END,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        max_sentence_length=2**30,  # longer sentences would be dropped
        minloglevel=2,
    )
    return characters, model.getvalue()
