"""Text for training subword tokenizers, and `sentencepiece`, which learns."""

import io
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from itertools import islice
from pathlib import Path

from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.extras import require
from keras_attention.text.base import END
from keras_attention.text.base import PAD
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import START
from keras_attention.text.base import UNKNOWN
from keras_attention.text.files import read_sentences
from keras_attention.text.sentences import as_bytes
from keras_attention.text.tensors import as_list
from keras_attention.text.tensors import tf

NEEDED_BY = "SentencePieceTokenizer"
SENTENCES_AT_ONCE = 4096
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # how `sentencepiece` writes a space
NOT_LEARNED = f" {SPACE}\0\N{LOWER FIVE EIGHTHS BLOCK}"


def clean_batches(
    clean: Callable,
    sentences_or_files: Iterable[str | Path],
    class_name: str,
) -> Iterator:
    """Clean the text for training a tokenizer, in large batches.

    Args:
        clean: A function from strings `(N,)` to strings `(N,)`, such as
            `tokenizer.clean`.
        sentences_or_files: As of `read_sentences`.
        class_name: The tokenizer that is trained.

    Yields:
        Strings `(N,)`.
    """
    sentences = read_sentences(sentences_or_files, class_name)
    while batch := as_bytes("sentences", islice(sentences, SENTENCES_AT_ONCE)):
        yield clean(tf.constant(batch))


def check_room(
    class_name: str, vocabulary_size: int, least: int, what: str
) -> int:
    """Count the ids of a vocabulary besides the special ones.

    Args:
        class_name: The tokenizer that is trained.
        vocabulary_size: The maximum number of ids, with the four special
            ones.
        least: The number of other ids that are needed.
        what: What needs them.

    Returns:
        The maximum number of other ids.

    Raises:
        ValueError: If `vocabulary_size` is not an integer, or too small.
    """
    check_integer("vocabulary_size", vocabulary_size)
    room = int(vocabulary_size) - len(SPECIAL_NAMES)
    if room < least:
        raise ValueError(
            f"`{class_name}.train` needs room for the 4 special ids and "
            f"{what}. Received: vocabulary_size={vocabulary_size}. "
            f"Give at least {len(SPECIAL_NAMES) + least}."
        )
    return room


def frequent_characters(
    sentences: Iterable[str], coverage: float, room: int, class_name: str
) -> list[str]:
    """Choose the characters that get an id of their own.

    Args:
        sentences: Cleaned sentences.
        coverage: The share of the text that these characters make up, in
            `(0, 1]`.
        room: Their maximum number.
        class_name: The tokenizer that is trained.

    Returns:
        The characters, the most frequent first. Of equally frequent ones, the
        one that sorts first comes first. Spaces are not among them, nor are
        characters that `sentencepiece` cannot learn.

    Raises:
        ValueError: If `coverage` is not in `(0, 1]`, or the text has no
            character.
    """
    check_number("character_coverage", coverage, above=0, most=1)
    counts = Counter()
    for sentence in sentences:
        counts.update(sentence)
    for character in NOT_LEARNED:
        counts.pop(character, None)
    if all(character.isspace() for character in counts):
        raise ValueError(
            f"`{class_name}.train` needs text. Received: no character. Give "
            "sentences that are not blank."
        )
    ranked = sorted(counts, key=lambda c: (-counts[c], c))[:room]
    before = accumulate((counts[c] for c in ranked), initial=0)
    wanted = sum(counts.values()) * coverage
    return [c for c, n in zip(ranked, before, strict=False) if n < wanted]


def learn_pieces(
    batches: Iterable,
    class_name: str,
    coverage: float,
    most: int,
    vocabulary_size: int,
    model_type: str,
    byte_fallback: bool = False,
) -> tuple[list[str], bytes]:
    """Learn pieces of words by `sentencepiece`, without its normalization.

    Args:
        batches: Cleaned sentences, as `clean_batches` yields them.
        class_name: The tokenizer that is trained.
        coverage: As of `frequent_characters`.
        most: The maximum number of characters that pieces are made of.
        vocabulary_size: The maximum number of ids, with the four special
            ones.
        model_type: `"unigram"` or `"bpe"`.
        byte_fallback: Whether every byte gets an id. Defaults to `False`.

    Returns:
        characters: Those of `frequent_characters`.
        model: The model, as `sentencepiece` writes it to a file.
    """
    sentences = [text for batch in batches for text in as_list(batch)]
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


def parse_model(model: bytes):
    """Parse a model of `sentencepiece`.

    Args:
        model: The content of its file, which must be whole.

    Returns:
        A `ModelProto` of `sentencepiece`: `pieces`, `trainer_spec` and
        `normalizer_spec`.
    """
    forms = require(
        "sentencepiece.sentencepiece_model_pb2", "sentencepiece", NEEDED_BY
    )
    return forms.ModelProto.FromString(model)


@lru_cache(maxsize=2)  # of source and target
def load_processor(model: bytes):
    """Load a model of `sentencepiece`, or return the one that is loaded.

    Args:
        model: The content of its file, which must be whole.

    Returns:
        A `SentencePieceProcessor`.
    """
    package = require("sentencepiece", "sentencepiece", NEEDED_BY)
    return package.SentencePieceProcessor(model_proto=model)
