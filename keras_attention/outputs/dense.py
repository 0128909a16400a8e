"""The plain output: a dense layer."""

from collections.abc import Callable

import keras
from keras import ops

from keras_attention.ops.rows import reshaped
from keras_attention.ops.rows import take_rows
from keras_attention.outputs.base import AbstractOutput


class DenseOutput(AbstractOutput):
    """Scores words by a `Dense` layer.

    Args:
        layer: The layer, which belongs to the model.
        **kwargs: Keras layer arguments, such as `dtype`.
    """

    streams = True

    def __init__(self, layer: keras.layers.Dense, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, decoded, prepared, training=None):
        return self.layer(decoded.outputs), None

    def step(self, decoded, state, prepared):
        return by_rows(self.layer, decoded.outputs), None, state

    def refuse_list(self):
        mode = self.layer.quantization_mode
        return mode and f"an output layer quantized to {mode}"

    def features(self, decoded, prepared):
        return decoded.outputs

    def rows(self, ids):
        """Take the kernel and the bias of some words.

        Args:
            ids: Int32 `(B, S)`.

        Returns:
            `(B, S, D)` and `(B, S)`.
        """
        layer = self.layer
        return rows_of(layer.kernel, layer.bias, ids, self.compute_dtype)


def by_rows(score: Callable, outputs):
    """Score outputs `(..., D)` as rows.

    Keras' product of more axes takes a dozen operations more.
    """
    scores = score(ops.reshape(outputs, (-1, outputs.shape[-1])))
    return reshaped(scores, (*ops.shape(outputs)[:-1], scores.shape[-1]))


def rows_of(kernel, bias, ids, dtype) -> tuple:
    """Take the columns of a kernel as rows, and the numbers of its bias."""
    # Rows are taken faster than columns, this transposition included.
    kernel = ops.transpose(ops.convert_to_tensor(kernel))
    bias = take_rows(ops.convert_to_tensor(bias), ids)
    return ops.cast(take_rows(kernel, ids), dtype), ops.cast(bias, dtype)
