"""Tokenizers on tensors, for TensorFlow graphs."""

from typing import Any

import keras
import tensorflow as tf

from keras_attention.export.tensor_pieces import mend
from keras_attention.export.tensor_steps import forms_of
from keras_attention.export.tensor_steps import read
from keras_attention.export.tensor_steps import write
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text.base import FRAME
from keras_attention.text.base import AbstractTokenizer


class TensorTokenizer(tf.Module):
    """A tokenizer on tensors, which `tokenizer.tokenize(tensor)` uses.

    It owns its lookup tables, and none of them reads a file. Therefore, after
    `keras.export.ExportArchive.track(tensor_tokenizer)`, the SavedModel can
    be moved.

    Args:
        tokenizer: The tokenizer.

    Raises:
        ValueError: If a step of the tokenizer has no form on tensors.
        ImportError: If `tensorflow_text` is needed and not installed.
    """

    def __init__(self, tokenizer: AbstractTokenizer):
        super().__init__()
        self.unknown_text = tokenizer.unknown_text
        self.vocabulary_size = tokenizer.vocabulary_size
        self.others = [*map(TensorTokenizer, tokenizer.parts[1:])]
        with tf.init_scope():
            names = [*SPECIAL_NAMES, *tokenizer.vocabulary]
            self.names = tf.constant(names, tf.string)
        self.forms = forms_of(tokenizer.steps)

    def tokenize(self, text: Any, max_length: int | None = None):
        """Convert strings `(B,)` to ids, like `tokenize` of the tokenizer.

        Args:
            text: Strings `(B,)`.
            max_length: Maximum length of a row.

        Returns:
            `(B, T)` int32; `(B, T, M)` with several tokenizers.
        """
        text = _strings("text", text)
        columns = [
            framed(x.read(text).ids, max_length) for x in (self, *self.others)
        ]
        if len(columns) == 1:
            return columns[0]
        sizes = [tf.shape(x)[1] for x in columns]
        longest = tf.reduce_max(tf.stack(sizes))
        return tf.stack(
            [
                tf.pad(x, [[0, 0], [0, longest - size]])
                for x, size in zip(columns, sizes, strict=True)
            ],
            axis=-1,
        )

    def read(self, text: Any):
        """Convert strings `(B,)` to `TensorPieces`, without start and end.

        Args:
            text: Strings `(B,)`, any bytes.
        """
        return read(self.forms, mend(text))

    def count(self, text: Any):
        """Count the ids of `tokenize`, `(B,)` int32.

        Args:
            text: Strings `(B,)`.
        """
        ids = self.read(_strings("text", text)).ids
        return tf.cast(ids.row_lengths(), tf.int32) + FRAME

    def surfaces(self, text: Any):
        """Split strings into the pieces that ids stand for, ragged `(B, None)`.

        Args:
            text: Strings `(B,)`.
        """
        return self.read(_strings("text", text)).texts()

    def detokenize(self, ids: Any, unknown: Any = None):
        """Convert ids to strings `(B,)`, like `detokenize` of the tokenizer.

        Args:
            ids: `(B, T)` int32 or int64.
            unknown: Strings `(B, T)`, or `None`.
        """
        ids = _integers("detokenize", ids)
        if ids.shape.rank not in (2, None):
            raise ValueError(
                "`detokenize` needs a batch of rows, `(B, T)`. "
                f"Received: ids.shape={ids.shape}. Put one row into a list."
            )
        own = own_ids(ids)
        if unknown is None:
            unknown = tf.constant(self.unknown_text)
        else:
            unknown = _strings("unknown", unknown, 2)
            unknown = tf.where(unknown == "", self.unknown_text, unknown)
            unknown = tf.ragged.boolean_mask(unknown, own).to_tensor()
        ids = tf.ragged.boolean_mask(self.known(ids), own)
        return write(self.forms, ids.to_tensor(PAD), unknown)

    def tokens(self, ids: Any):
        """Return the token of each id, as strings of the same shape.

        Args:
            ids: `(...)` int32 or int64.
        """
        return tf.gather(self.names, self.known(_integers("tokens", ids)))

    def known(self, ids):
        """Replace ids outside the vocabulary by the unknown id, as int32.

        Args:
            ids: `(...)` int32 or int64.
        """
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        unknown = tf.cast(UNKNOWN, ids.dtype)
        return tf.cast(tf.where(inside, ids, unknown), tf.int32)


def framed(ids: tf.RaggedTensor, max_length: int | None):
    """Add start and end to ragged ids, with operations of LiteRT.

    Args:
        ids: Ragged int32 `(B, None)`.
        max_length: Maximum length of a row, including both, or `None`.

    Returns:
        `(B, T)`.
    """
    lengths = ids.row_lengths()  # (B,)
    if max_length is not None:
        lengths = tf.minimum(lengths, max_length - FRAME)
    longest = tf.reduce_max(tf.pad(lengths, [[0, 1]]))
    rows = tf.pad(cut_or_pad(ids, longest), [[0, 0], [1, 1]])
    place = tf.range(tf.shape(rows, tf.int64)[1])
    rows = tf.where(place == 0, START, rows)
    rows = tf.where(place == lengths[:, None] + 1, END, rows)
    return tf.ensure_shape(rows, (None, None))


def own_ids(ids):
    """Return which ids stand for text.

    Args:
        ids: `(B, T)` int32 or int64.

    Returns:
        Booleans `(B, T)`: `False` at padding, start ids, and from the first
        end id on.
    """
    ended = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) > 0
    return ~ended & (ids != PAD) & (ids != START)


def cut_or_pad(rows, width):
    """Truncate ragged rows to a width before padding them to it.

    In this order, one long row does not make all others as long.

    Args:
        rows: Ids or strings, a ragged tensor `(B, None)`.
        width: `T`, a scalar int64.

    Returns:
        `(B, T)`, padded with zeros or empty strings.
    """
    rows = rows.to_tensor(shape=tf.stack([-1, width]))
    return rows[:, :width]  # LiteRT pads by too much


def _strings(name, text, rank=1):
    text = tf.convert_to_tensor(text)
    if text.dtype != tf.string or text.shape.rank not in (rank, None):
        raise ValueError(
            "A tokenizer needs a batch of strings, `(B,)`. Received: "
            f"{name}.shape={text.shape}, {text.dtype.name}. Put a single "
            "string into a list."
        )
    return text


def _integers(method, ids):
    ids = tf.convert_to_tensor(ids)
    if keras.backend.is_int_dtype(ids.dtype):
        return ids
    if 0 not in ids.shape:  # of which nobody knows the type
        raise ValueError(
            f"`{method}` needs integer ids. Received: ids of {ids.dtype}. Cast "
            "them."
        )
    return tf.cast(ids, tf.int32)
