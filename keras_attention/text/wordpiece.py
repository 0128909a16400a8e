"""Pieces of words, by operations that LiteRT has as well."""

from collections.abc import Iterable
from pathlib import Path

import keras
import tensorflow as tf

from keras_attention.extras import require
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.base import own_ids
from keras_attention.text.cleaning import mend
from keras_attention.text.files import read_sentences
from keras_attention.text.training import SPACE
from keras_attention.text.training import check_room
from keras_attention.text.training import clean_sentences
from keras_attention.text.training import frequent_characters
from keras_attention.text.training import learn_model
from keras_attention.text.training import parse_model
from keras_attention.text.vocabulary import check_vocabulary

JOINER = "##"
INNER_JOINER = "\x01"  # no cleaned text has it, so none looks like a piece
LONGEST_WORD = 100_000  # bytes; a longer word is unknown


@keras.saving.register_keras_serializable(package="keras_attention")
class WordPieceTokenizer(AbstractTokenizer):
    """Splits words into pieces, in TensorFlow and inside of a LiteRT file.

    Words are what stands between white space. Each is split into the longest
    pieces there are, from the left: "Hunde." into "Hund", "##e" and "##.",
    where "##" marks what continues a word. A word that cannot be put together
    from pieces is unknown as a whole. So text comes back exactly, but for
    its white space, which becomes single spaces, and unknown words. For
    languages that put spaces between words.

    Unlike BERT's, signs are no words of their own: "Hunde." would come back
    as "Hunde .", and a LiteRT file has nothing to mend it with.

    LiteRT has no Unicode normalization, so `normalization="identity"` is the
    only one, and `normalize` does what can be done: control characters and
    invisible ones become spaces, the joiners inside of emoji too. With
    `lowercase` it does as BERT does, and takes accents off as well: "Äste" is
    read as "aste" and "Straße" as "strasse". Other tokenizers keep both.

    `litert_tokenize`, `litert_detokenize` and `tokens` are what a LiteRT file
    can hold; it runs by `ai_edge_litert.interpreter.InterpreterWithCustomOps`
    with `tensorflow_text.tflite_registrar.SELECT_TFTEXT_OPS`. They give what
    `tokenize` and `detokenize` give. Only these mend invalid UTF-8 first, and
    can write something else for unknown words.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.
        normalization: `"identity"`.
        lowercase: Whether text is put into lower case, without accents.

    Raises:
        ValueError: If `normalization` is another, or a piece is empty, too
            long, no string, there twice, or the name of a special id.

    Example:

    >>> from keras_attention.text import WordPieceTokenizer
    >>> tokenizer = WordPieceTokenizer(["Hund", "##e", "##."])
    >>> ids = tokenizer.tokenize(["Hunde. Katze Hund"])
    >>> ids.numpy().tolist()
    [[2, 4, 5, 6, 1, 4, 3]]
    >>> tokenizer.detokenize(ids).numpy().tolist()
    [b'Hunde. <unk> Hund']
    """

    def __init__(self, vocabulary, normalization="identity", lowercase=False):
        if normalization != "identity":
            raise ValueError(
                "WordPieceTokenizer runs inside of LiteRT, which cannot "
                f"normalize. Received: normalization={normalization!r}. "
                "Leave it out, or use SentencePieceTokenizer."
            )
        vocabulary = check_vocabulary(vocabulary, type(self).__name__)
        super().__init__(vocabulary, normalization, lowercase)
        ops = require("tensorflow_text", "text", type(self).__name__)
        self._normalizer = ops.FastBertNormalizer(self.lowercase)
        self._words = ops.WhitespaceTokenizer()
        # Longer spaces than ASCII's belong to words: it would cut through
        # their bytes. One bit for each character.
        self._words._config = self._words._config[: ord(" ") // 8 + 1]
        self._pieces = _piece_tokenizer(ops, vocabulary)
        texts = ["", "", "", "", *map(_written, vocabulary)]
        self._texts = tf.constant(texts, tf.string)

    def normalize(self, text):
        """Clean valid UTF-8 by the one operation for it that LiteRT has.

        Args:
            text: Strings `(B,)`.

        Returns:
            Strings `(B,)`.
        """
        return self._normalizer.normalize(text)

    def clean(self, text):
        return self.normalize(mend(text))

    def encode(self, text):
        words = self._words.tokenize(text)
        ids = self._pieces.tokenize(words.flat_values)
        return _rows(ids, words)

    def split(self, text):
        words = self._words.tokenize(text)
        _, starts, ends = self._pieces.tokenize_with_offsets(words.flat_values)
        word = tf.gather(words.flat_values, starts.value_rowids())
        lengths = ends.flat_values - starts.flat_values
        pieces = tf.strings.substr(word, starts.flat_values, lengths)
        return _rows(starts.with_flat_values(pieces), words)

    def decode(self, ids, unknown):
        texts = tf.gather(self._texts, ids)
        texts = tf.where(ids == UNKNOWN, " " + unknown, texts)
        return tf.strings.strip(tf.strings.reduce_join(texts, axis=1))

    def litert_tokenize(self, text, max_length: int | None = None):
        """Turn strings into ids, by operations that LiteRT has.

        Args:
            text: Strings `(B,)`, valid UTF-8.
            max_length: How many ids a row may have, start and end included.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.
        """
        return self._framed(self.encode(self.normalize(text)), max_length)

    def litert_detokenize(self, ids):
        """Turn ids into strings, by operations that LiteRT has.

        Args:
            ids: `(B, T)` int32. Pads and starts are dropped, and the first
                end with all behind it.

        Returns:
            Strings `(B,)`, with `<unk>` for unknown words.
        """
        own = own_ids(ids)
        lengths = tf.reduce_sum(tf.cast(own, tf.int64), axis=1)
        ids = tf.boolean_mask(self._known(ids), own)
        ids = tf.RaggedTensor.from_row_lengths(ids, lengths, validate=False)
        return self._pieces.detokenize(ids)

    def get_config(self):
        return {"vocabulary": self.vocabulary, **super().get_config()}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        normalization: str = "identity",
        lowercase: bool = False,
        character_coverage: float = 1.0,
    ):
        """Build a tokenizer from the pieces that words are often made of.

        Pieces are learned by `sentencepiece`, as byte pair encoding. Every
        frequent character gets two ids, for the beginning of a word and for
        its rest. The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The most ids there may be, the four special ones
                included. There are fewer if the text has fewer pieces.
            normalization: `"identity"`.
            lowercase: Whether text is put into lower case, without accents.
            character_coverage: How much of the text the characters that get
                ids must make up. A word with another one is unknown, so lower
                it only for text with thousands of rare signs.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, no room for a character, or
                something that is neither a sentence nor a `Path`.
        """
        room = check_room(cls.__name__, vocabulary_size, 2, "a character")
        untrained = cls([], normalization, lowercase)
        sentences = read_sentences(sentences_or_files, cls.__name__)
        sentences = clean_sentences(untrained.clean, sentences)
        letters = frequent_characters(
            sentences, character_coverage, room // 2, cls.__name__
        )
        # As many merges as there may be, and those that only put a letter at
        # the beginning of a word.
        size = len(SPECIAL_NAMES) + 1 + room
        model = learn_model(
            sentences, letters, size, "bpe", False, cls.__name__
        )
        pieces = [*letters, *(JOINER + letter for letter in letters)]
        learned = parse_model(model, cls.__name__).pieces[len(SPECIAL_NAMES) :]
        pieces += filter(None, (_as_wordpiece(p.piece) for p in learned))
        return cls(list(dict.fromkeys(pieces))[:room], lowercase=lowercase)


def _piece_tokenizer(ops, vocabulary):
    hidden = [f"{name} " for name in SPECIAL_NAMES]  # no word has a space
    hidden[UNKNOWN] = SPECIAL_NAMES[UNKNOWN]
    try:
        return ops.FastWordpieceTokenizer(
            [*hidden, *map(_inner, vocabulary)],
            suffix_indicator=INNER_JOINER,
            max_bytes_per_word=LONGEST_WORD,
            token_out_type=tf.int32,
            unknown_token=hidden[UNKNOWN],
            no_pretokenization=True,
            support_detokenization=True,
        )
    except RuntimeError as error:
        raise ValueError(
            "WordPieceTokenizer needs a `vocabulary` of pieces that words "
            f"can have. Received: a vocabulary with a piece that none has: "
            f"{error}. Leave out what is longer than 256 bytes, and control "
            "characters."
        ) from error


def _as_wordpiece(piece):
    """Rename what `sentencepiece` learned."""
    if piece.startswith(SPACE):
        return piece.removeprefix(SPACE)
    return JOINER + piece


def _continues(piece):
    return piece.startswith(JOINER) and piece != JOINER


def _inner(piece):
    if _continues(piece):
        return INNER_JOINER + piece.removeprefix(JOINER)
    return piece


def _written(piece):
    return piece.removeprefix(JOINER) if _continues(piece) else f" {piece}"


def _rows(pieces, words):
    """Join the pieces of words `(W, None)` to rows of text `(B, None)`."""
    splits = tf.gather(pieces.row_splits, words.row_splits)
    values = pieces.flat_values
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)
