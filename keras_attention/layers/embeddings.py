"""Embeddings of words that come several times in a batch.

On TensorFlow, Keras' optimizers take each occurrence of a word for a row of
its own; see `look_up`. These layers add up the gradients of the same word.
They are parts of other layers, and are not saved by themselves. Files of
weights name them by their class, so they have the names of Keras' own.
"""

import keras
from keras import ops
from keras.backend import standardize_dtype

from keras_attention.ops import hoist
from keras_attention.ops import product
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoists
from keras_attention.ops.rows import look_up
from keras_attention.ops.rows import take_rows


class Embedding(keras.layers.Embedding):
    """Embeds as Keras' layer; its gradient has each word once."""

    def call(self, inputs, training: bool | None = None):
        return _look_up(self, inputs) if training else super().call(inputs)

    def compute_output_spec(self, inputs, training: bool | None = None):
        return super().compute_output_spec(inputs)


class ReversibleEmbedding(keras.layers.ReversibleEmbedding):
    """Embeds and scores as Keras' layer; its gradient has each word once."""

    def call(self, inputs, reverse: bool = False, training: bool | None = None):
        if training and not reverse:
            return _look_up(self, inputs)
        if not reverse and hoists():
            return _take_known(self, inputs)
        if reverse and hoists() and _have_one_dtype(inputs, self.embeddings):
            # Transposed in every step, it takes most of the time of a few rows.
            return product(inputs, hoist(_transposed, self.embeddings))
        return super().call(inputs, reverse=reverse)

    def compute_output_spec(
        self, inputs, reverse: bool = False, training: bool | None = None
    ):
        return super().compute_output_spec(inputs, reverse=reverse)


def _look_up(layer, ids):
    table = ops.convert_to_tensor(layer.embeddings, layer.compute_dtype)
    return look_up(table, ops.cast(ids, "int32"))


def _take_known(layer, ids):
    """Embed ids that a search has found, which are in range."""
    table = ops.convert_to_tensor(layer.embeddings)
    found = take_rows(table, ops.cast(ids, "int32"))
    return ops.cast(found, layer.compute_dtype)


def _have_one_dtype(inputs, embeddings):
    return standardize_dtype(inputs.dtype) == dtype_of(embeddings)


def _transposed(embeddings):
    return ops.transpose(ops.convert_to_tensor(embeddings))
