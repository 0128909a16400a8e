"""Embeddings of words that come several times in a batch."""

import keras
from keras import ops

from keras_attention.ops.rows import look_up


class WordEmbedding(keras.layers.ReversibleEmbedding):
    """Embeds as Keras' layer, and adds up the gradients of the same word.

    On TensorFlow, Keras' optimizers otherwise take each occurrence of a word
    for a row of its own; see `look_up`. It is a part of other layers, and is
    not saved by itself.
    """

    def call(self, inputs, reverse: bool = False, training: bool | None = None):
        if reverse or not training:
            return super().call(inputs, reverse=reverse)
        table = ops.convert_to_tensor(self.embeddings, self.compute_dtype)
        return look_up(table, ops.cast(inputs, "int32"))

    def compute_output_spec(
        self, inputs, reverse: bool = False, training: bool | None = None
    ):
        return super().compute_output_spec(inputs, reverse=reverse)
