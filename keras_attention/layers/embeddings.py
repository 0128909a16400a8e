"""Embeddings of words that come several times in a batch.

On TensorFlow, Keras' optimizers take each occurrence of a word for a row of
its own; see `look_up`. These layers add up the gradients of the same word.
They are parts of other layers, and are not saved by themselves. Files of
weights name them by their class, so they have the names of Keras' own.
"""

import keras
from keras import ops

from keras_attention.ops.rows import look_up


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
        return super().call(inputs, reverse=reverse)

    def compute_output_spec(
        self, inputs, reverse: bool = False, training: bool | None = None
    ):
        return super().compute_output_spec(inputs, reverse=reverse)


def _look_up(layer, ids):
    table = ops.convert_to_tensor(layer.embeddings, layer.compute_dtype)
    return look_up(table, ops.cast(ids, "int32"))
