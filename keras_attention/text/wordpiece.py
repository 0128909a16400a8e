"""Pieces of words, by operations that LiteRT has as well."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import keras

from keras_attention.extras import require
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.base import own_ids
from keras_attention.text.cleaning import mend
from keras_attention.text.tensors import as_list
from keras_attention.text.tensors import cut_out
from keras_attention.text.tensors import tf
from keras_attention.text.training import SPACE
from keras_attention.text.training import check_room
from keras_attention.text.training import clean_batches
from keras_attention.text.training import learn_pieces
from keras_attention.text.training import parse_model
from keras_attention.text.vocabulary import ASCII_SPACES
from keras_attention.text.vocabulary import check_no_space
from keras_attention.text.vocabulary import check_vocabulary
from keras_attention.text.vocabulary import warn_of_lost

LONGEST_WORD = 100_000  # bytes; a longer word is unknown
JOINER = "##"  # marks a piece that continues a word
CONTINUES = f"^{JOINER}(?=.)"
INNER_JOINER = "\x01"  # in no cleaned text, unlike "##"


@keras.saving.register_keras_serializable(package="keras_attention")
class WordPieceTokenizer(AbstractTokenizer):
    """Splits words into pieces, in TensorFlow and inside of a LiteRT file.

    Text is split into words at white space. Each word is split from the left
    into the longest pieces of the vocabulary: "Hunde." into "Hund", "##e" and
    "##.", where "##" marks a piece that continues a word. A word that cannot
    be made of pieces is unknown as a whole. So text comes back exactly, except
    that all white space becomes single spaces and unknown words are lost.
    It suits languages that put spaces between words.

    Unlike in BERT, signs are not words of their own: "Hunde." would come back
    as "Hunde .", and a LiteRT file has no operation to join them again.

    LiteRT has no Unicode normalization, so `normalization` is `"identity"`.
    `normalize` turns control characters and invisible ones into spaces, also
    the joiners inside emoji. With `lowercase` it also removes accents, as
    only BERT does: "Äste" becomes "aste" and "Straße" "strasse".

    `litert_tokenize`, `litert_detokenize` and `tokens` can be converted to
    LiteRT, to run with `tensorflow_text.tflite_registrar.SELECT_TFTEXT_OPS`.
    Their results equal those of `tokenize` and `detokenize`, which also
    replace invalid UTF-8 and can write another text for unknown words.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.
        normalization: `"identity"`, the only one. Defaults to `"identity"`.
        lowercase: Whether to put text into lower case, without accents.
            Defaults to `False`.

    Raises:
        ValueError: If `normalization` is another, or a piece is empty, has
            white space, is too long, is not a string, appears twice, or is
            the name of a special id.

    Example:

    >>> from keras_attention.text import WordPieceTokenizer
    >>> tokenizer = WordPieceTokenizer(["Hund", "##e", "##."])
    >>> ids = tokenizer.tokenize(["Hunde. Katze Hund"])
    >>> ids.numpy().tolist()
    [[2, 4, 5, 6, 1, 4, 3]]
    >>> tokenizer.detokenize(ids).numpy().tolist()
    [b'Hunde. <unk> Hund']
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "identity",
        lowercase: bool = False,
    ):
        if normalization != "identity":
            raise ValueError(
                "WordPieceTokenizer runs in LiteRT, which cannot normalize "
                f"Unicode. Received: normalization={normalization!r}. "
                "Leave it out, or use SentencePieceTokenizer."
            )
        name = type(self).__name__
        vocabulary = check_vocabulary(vocabulary, name)
        check_no_space(vocabulary, ASCII_SPACES, name)
        super().__init__(vocabulary, normalization, lowercase)
        ops = require("tensorflow_text", "text", name)
        self._normalizer = ops.FastBertNormalizer(self.lowercase)
        names = inner_names(vocabulary)
        self._pieces = _piece_tokenizer(names)
        given = tf.constant(vocabulary, tf.string)
        warn_of_lost(self, vocabulary, as_list(self.normalize(given)))
        words = [f" {name}" for name in names[len(SPECIAL_NAMES) :]]
        texts = [word.replace(f" {INNER_JOINER}", "") for word in words]
        self._texts = tf.constant(["", "", "", "", *texts], tf.string)

    def normalize(self, text):
        """Clean text by the only operation for it that LiteRT has.

        Args:
            text: Strings `(B,)`, valid UTF-8.

        Returns:
            Strings `(B,)`.
        """
        return self._normalizer.normalize(text)

    def clean(self, text):
        return self.normalize(mend(text))

    def encode(self, text):
        return self._encode_words(tf.strings.split(text))

    def split(self, text):
        words = tf.strings.split(text)
        _, starts, ends = self._pieces.tokenize_with_offsets(words.flat_values)
        return _rows(cut_out(words.flat_values, starts, ends), words)

    def decode(self, ids, unknown):
        texts = tf.gather(self._texts, ids)
        texts = tf.where(ids == UNKNOWN, " " + unknown, texts)
        return tf.strings.strip(tf.strings.reduce_join(texts, axis=1))

    def litert_tokenize(self, text, max_length: int | None = None):
        """Turn strings into ids, by operations that LiteRT has.

        Args:
            text: Strings `(B,)`, valid UTF-8.
            max_length: The maximum length of a row, with start and end.
                Defaults to `None`, no limit.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.
        """
        words = _split_at_spaces(self.normalize(text))
        return self._framed(self._encode_words(words), max_length)

    def litert_detokenize(self, ids):
        """Turn ids into strings, by operations that LiteRT has.

        Args:
            ids: `(B, T)` int32. Pads and starts are dropped, and so is
                everything from the first end on.

        Returns:
            Strings `(B,)`, with `<unk>` for unknown words.
        """
        own = own_ids(ids)
        lengths = tf.reduce_sum(tf.cast(own, tf.int64), axis=1)
        ids = self._known(ids)
        with tf.init_scope():  # outside of a graph, `vocabulary` can be read
            names, firsts = _first_names(self.vocabulary)
        first = tf.cumsum(tf.cast(own, tf.int32), axis=1) == 1
        ids = tf.where(first, tf.gather(firsts, ids), ids)
        ids = tf.boolean_mask(ids, own)
        ids = tf.RaggedTensor.from_row_lengths(ids, lengths, validate=False)
        return _piece_tokenizer(names).detokenize(ids)

    def _encode_words(self, words):
        return _rows(self._pieces.tokenize(words.flat_values), words)

    def get_config(self) -> dict:
        return {"vocabulary": self.vocabulary, **super().get_config()}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        normalization: str = "identity",
        lowercase: bool = False,
        character_coverage: float = 1.0,
    ) -> Self:
        """Build a tokenizer from the most frequent pieces of words.

        Pieces are learned by `sentencepiece`, as byte pair encoding. Every
        frequent character gets two ids: one at the beginning of a word, one
        inside. The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The maximum number of ids, with the four special
                ones. A text with fewer pieces gives fewer ids.
            normalization: `"identity"`, the only one. Defaults to
                `"identity"`.
            lowercase: Whether to put text into lower case, without accents.
                Defaults to `False`.
            character_coverage: The share of the text whose characters get
                ids, in `(0, 1]`. A word with any other character is unknown,
                so lower it only for text with thousands of rare characters.
                Defaults to `1.0`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, no room for a character, or an
                item that is neither a sentence nor a `Path`.
        """
        room = check_room(cls.__name__, vocabulary_size, 2, "a character")
        untrained = cls([], normalization, lowercase)
        name = cls.__name__
        batches = clean_batches(untrained.clean, sentences_or_files, name)
        # Room for all merges, and for those that only put a letter at the
        # beginning of a word.
        size = len(SPECIAL_NAMES) + 1 + room
        letters, model = learn_pieces(
            batches, name, character_coverage, room // 2, size, "bpe"
        )
        pieces = [*letters, *(JOINER + letter for letter in letters)]
        for learned in parse_model(model).pieces[len(SPECIAL_NAMES) :]:
            begins = learned.piece.startswith(SPACE)  # a word
            joiner = "" if begins else JOINER
            pieces.append(joiner + learned.piece.removeprefix(SPACE))
        pieces = [*dict.fromkeys(filter(None, pieces))]
        return cls(pieces[:room], lowercase=lowercase)


def _piece_tokenizer(names):
    ops = require("tensorflow_text", "text", "WordPieceTokenizer")
    try:
        return ops.FastWordpieceTokenizer(
            names,
            suffix_indicator=INNER_JOINER,
            max_bytes_per_word=LONGEST_WORD,
            token_out_type=tf.int32,
            unknown_token=names[UNKNOWN],
            no_pretokenization=True,
            support_detokenization=True,
        )
    except RuntimeError as error:
        raise ValueError(
            "WordPieceTokenizer needs a `vocabulary` of pieces of at most 256 "
            f"bytes, without control characters. Received: {error}. Leave "
            "such pieces out."
        ) from error


def _rows(pieces, words):
    """Join the pieces of words `(W, None)` to rows of text `(B, None)`."""
    splits = tf.gather(pieces.row_splits, words.row_splits)
    values = pieces.flat_values
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def _split_at_spaces(text):
    """Split strings at every " ", as `tf.strings.split` does.

    LiteRT does not have `tf.strings.split`. It has
    `tensorflow_text.WhitespaceTokenizer`, but this also splits at longer
    spaces, such as U+00A0, and leaves some of their bytes in the word before.

    Args:
        text: Strings `(B,)`.

    Returns:
        Words as a ragged tensor of strings `(B, None)`, none of them empty.
    """
    ops = require("tensorflow_text", "text", "WordPieceTokenizer")
    splitter = ops.ByteSplitter()
    data, starts, ends = splitter.split_with_offsets(text)
    data = tf.cast(data, tf.int32)  # LiteRT cannot compare uint8
    inside = data.flat_values != ord(" ")  # (N,), for each byte of the batch
    first = starts.flat_values == 0  # of a string
    continued = inside & ~first  # by the next byte, once shifted
    begins = inside & (first | ~tf.pad(inside, [[1, 0]])[:-1])
    stops = inside & ~tf.pad(continued, [[0, 1]])[1:]
    words_before = tf.cumsum(tf.cast(begins, tf.int64))
    row_splits = tf.gather(tf.pad(words_before, [[1, 0]]), data.row_splits)

    def chosen(offsets, flags):
        offsets = tf.boolean_mask(offsets.flat_values, flags)
        return tf.RaggedTensor.from_row_splits(
            offsets, row_splits, validate=False
        )

    return splitter.split_by_offsets(
        text, chosen(starts, begins), chosen(ends, stops)
    )


# Names of pieces, here and in `tensorflow_text`.


def inner_names(vocabulary: list[str]) -> list[str]:
    """List the names by which `tensorflow_text` knows all ids.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.

    Returns:
        As many names, and four for the special ids. No word of a text is
        taken for one of these, nor has it what marks a continuing piece.
    """
    names = [f"{name} " for name in SPECIAL_NAMES]  # words have no space
    return names + [re.sub(CONTINUES, INNER_JOINER, x) for x in vocabulary]


def _first_names(vocabulary: list[str]) -> tuple[list[str], list[int]]:
    """Name the pieces as `inner_names`, and as they begin a text.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.

    Returns:
        names: Those of all ids, and after them of what a continuing piece is
            at the beginning of a text, where it continues nothing.
        firsts: For each id, the one that stands for it at the beginning.
    """
    names = inner_names(vocabulary)
    names[UNKNOWN] = SPECIAL_NAMES[UNKNOWN]  # is written
    ids = {name: i for i, name in enumerate(names)}
    firsts = [
        ids.setdefault(name.removeprefix(INNER_JOINER), len(ids))
        for name in names
    ]
    return list(ids), firsts
