"""The steps of subword tokenizers on tensors, with `tensorflow_text`."""

import tensorflow as tf

from keras_attention.export.tensor_steps import AbstractForm
from keras_attention.export.tensor_steps import TensorPieces
from keras_attention.export.tensor_steps import tensor_form
from keras_attention.extras import require
from keras_attention.steps.pieces import INNER_JOINER
from keras_attention.steps.pieces import LONGEST_WORD
from keras_attention.steps.pieces import NEEDED_BY
from keras_attention.steps.pieces import NormalizeWords
from keras_attention.steps.pieces import SentencePieces
from keras_attention.steps.pieces import WordPieces
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN


class SentencePiecesForm(AbstractForm):
    """`SentencePieces` on tensors.

    Args:
        step: The step.
    """

    def __init__(self, step: SentencePieces):
        super().__init__(step)
        ids, _, texts = step.pieces
        self.ids = tf.constant(ids, tf.int32)
        self.texts = tf.constant([b"", b"", b"", b"", *texts], tf.string)
        self.cut = _cutter(step.model)

    def read(self, value):
        ids, starts, ends = self.cut(value)

        def texts():
            pieces = cut_out(value, starts, ends)
            bare = tf.strings.regex_replace(pieces.flat_values, "^ +| +$", "")
            return pieces.with_flat_values(bare)

        own = tf.gather(self.ids, ids.flat_values)
        return TensorPieces(ids.with_flat_values(own), texts)

    def write(self, value):
        ids, unknown = value
        texts = tf.gather(self.texts, ids)
        texts = tf.where(ids == UNKNOWN, unknown, texts)
        text = mend(tf.strings.reduce_join(texts, axis=1))  # joins bytes
        return tf.strings.regex_replace(text, self.step.added_space, "")


def _cutter(model):
    """Return a function from strings `(B,)` to ids, starts and ends of pieces.

    A model belongs to the kernel that created it. TensorFlow can drop the
    kernels of single operations at any time (`keras.utils.set_random_seed` is
    enough), but creates those of a function again when it is called.
    Therefore, the model is created in a function, which a graph contains only
    once.
    """
    ops = require("tensorflow_text", "text", NEEDED_BY)

    def cut(text):
        pieces = ops.SentencepieceTokenizer(model, tf.int32)
        return pieces.tokenize_with_offsets(text)

    text = tf.TensorSpec((None,), tf.string)
    return tf.function(cut, autograph=False).get_concrete_function(text)


def mend(text):
    """Replace bytes that are not UTF-8 by U+FFFD.

    Args:
        text: Strings of any shape.

    Returns:
        Strings of the same shape.
    """
    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def cut_out(text, starts, ends):
    """Cut pieces out of strings, with memory linear in the text.

    `tf.strings.substr` would need a copy of the whole string for each of its
    pieces: 10 GB for a string of 200,000 bytes and pieces of 4.

    Args:
        text: Strings `(B,)`.
        starts: The start of each piece in bytes: ragged int64 `(B, None)`.
        ends: The end of each piece in bytes, in the same form.

    Returns:
        The pieces, a ragged tensor of strings `(B, None)`.
    """
    data = tf.strings.bytes_split(text)  # (B, None)
    first = tf.gather(data.row_starts(), starts.value_rowids())
    places = tf.ragged.range(
        first + starts.flat_values, first + ends.flat_values
    )
    data = tf.gather(data.flat_values, places)
    return starts.with_flat_values(tf.strings.reduce_join(data, axis=-1))


class NormalizeWordsForm(AbstractForm):
    """`NormalizeWords` on tensors, with the only such operation in LiteRT.

    Args:
        step: The step.
    """

    def __init__(self, step: NormalizeWords):
        super().__init__(step)
        ops = require("tensorflow_text", "text", "WordPieceTokenizer")
        self.normalizer = ops.FastBertNormalizer(step.lowercase)

    def read(self, value):
        return self.normalizer.normalize(value)


class WordPiecesForm(AbstractForm):
    """`WordPieces` on tensors.

    Args:
        step: The step.
    """

    def __init__(self, step: WordPieces):
        super().__init__(step)
        self.pieces = piece_tokenizer(step.names)
        words = [f" {name}" for name in step.names[len(SPECIAL_NAMES) :]]
        texts = [word.replace(f" {INNER_JOINER}", "") for word in words]
        self.texts = tf.constant(["", "", "", "", *texts], tf.string)

    def read(self, value):
        def texts():
            words = value.flat_values
            _, starts, ends = self.pieces.tokenize_with_offsets(words)
            return _rows(cut_out(words, starts, ends), value)

        return TensorPieces(self.ids(value), texts)

    def ids(self, words):
        """Return ragged ids of the pieces of ragged words `(B, None)`."""
        return _rows(self.pieces.tokenize(words.flat_values), words)

    def write(self, value):
        ids, unknown = value
        texts = tf.gather(self.texts, ids)
        texts = tf.where(ids == UNKNOWN, " " + unknown, texts)
        return tf.strings.strip(tf.strings.reduce_join(texts, axis=1))


def piece_tokenizer(names: list[str]):
    """Create a WordPiece tokenizer that TensorFlow and LiteRT can run.

    Args:
        names: The names of all ids.

    Returns:
        A `tensorflow_text.FastWordpieceTokenizer`.
    """
    ops = require("tensorflow_text", "text", "WordPieceTokenizer")
    return ops.FastWordpieceTokenizer(
        names,
        suffix_indicator=INNER_JOINER,
        max_bytes_per_word=LONGEST_WORD,
        token_out_type=tf.int32,
        unknown_token=names[UNKNOWN],
        no_pretokenization=True,
        support_detokenization=True,
    )


def _rows(pieces, words):
    """Join the pieces of words `(W, None)` into rows of text `(B, None)`."""
    splits = tf.gather(pieces.row_splits, words.row_splits)
    values = pieces.flat_values
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


tensor_form.register(SentencePieces, SentencePiecesForm)
tensor_form.register(NormalizeWords, NormalizeWordsForm)
tensor_form.register(WordPieces, WordPiecesForm)
