"""Copies of a model that copies, on tensors: as `text/copies.py` has them."""

import tensorflow as tf

from keras_attention.export.tensor_tokenizer import TensorTokenizer
from keras_attention.export.tensor_tokenizer import cut_or_pad
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN


def aligned_words(tokenizer: TensorTokenizer, text, ids):
    """Look up the piece of text behind each id.

    Args:
        tokenizer: The tokenizer that made the ids.
        text: Strings `(B,)`.
        ids: `(B, T)`: the result of `tokenizer.tokenize(text)`, which may
            have been cut or padded.

    Returns:
        Strings `(B, T)`, empty for start, end and padding.
    """
    columns = tf.shape(ids, tf.int64)[1]
    words = cut_or_pad(tokenizer.surfaces(text), columns - 1)
    words = tf.pad(words, [[0, 0], [1, 0]])  # the start comes first
    real = (ids != PAD) & (ids != START) & (ids != END)
    return tf.where(real, words, "")


def spell_source(ids, words, vocabulary_size: int):
    """Give every unknown word of a source an id of its own.

    Args:
        ids: `(B, Tv)` int32.
        words: Strings `(B, Tv)`, the word behind each id.
        vocabulary_size: The number `V` of ids in the vocabulary.

    Returns:
        `(B, Tv)` int32: `V + j` for an unknown word that first appears in
        column `j` of its row, and `ids` for known words.
    """
    first = _first_columns(words)
    return tf.where(ids == UNKNOWN, vocabulary_size + first, ids)


def spell_target(ids, words, source_ids, source_words, vocabulary_size: int):
    """Give unknown words of a target the ids that they have in the source.

    Args:
        ids: `(B, T)` int32.
        words: Strings `(B, T)`, the word behind each id.
        source_ids: `(B, Tv)` int32, before or after `spell_source`.
        source_words: Strings `(B, Tv)`, the word behind each of them.
        vocabulary_size: The number of ids in the vocabulary.

    Returns:
        `(B, T)` int32. An unknown word that is not in the source stays
        unknown.
    """
    columns = tf.shape(source_ids)[1]
    both = tf.concat([source_words, words], axis=1)
    first = _first_columns(both)[:, columns:]
    there = (ids == UNKNOWN) & (first < columns)
    return tf.where(there, vocabulary_size + first, ids)


def copied_words(ids, source_words, vocabulary_size: int):
    """Look up the source words behind ids beyond the vocabulary.

    Args:
        ids: `(B, ...)` int32.
        source_words: Strings `(B, Tv)`.
        vocabulary_size: The number of ids in the vocabulary.

    Returns:
        Strings of the shape of `ids`, empty for ids of the vocabulary.
    """
    columns = tf.shape(source_words)[1]
    place = tf.clip_by_value(ids - vocabulary_size, 0, columns - 1)
    words = tf.gather(source_words, place, batch_dims=1)
    return tf.where(ids >= vocabulary_size, words, "")


def _first_columns(words):
    """Find the column `(B, T)` where each word first appears in its row."""
    shape = tf.shape(words)
    rows = tf.strings.as_string(tf.range(shape[0]))[:, None]
    flat = tf.reshape(rows + " " + words, (-1,))
    kinds, kind = tf.unique(flat)
    places = tf.range(tf.size(flat))
    first = tf.math.unsorted_segment_min(places, kind, tf.size(kinds))
    first = tf.gather(first, kind) % tf.maximum(shape[1], 1)
    return tf.reshape(first, shape)
