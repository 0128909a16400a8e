"""The plain output: a dense layer, or the target embedding, transposed."""

import keras

from keras_attention.backend import ops
from keras_attention.ops import cast
from keras_attention.ops.operations import hoists
from keras_attention.ops.products import in_dtype
from keras_attention.ops.products import plain_product
from keras_attention.ops.rows import reshaped
from keras_attention.ops.rows import take_rows
from keras_attention.outputs.base import AbstractOutput


class DenseOutput(AbstractOutput):
    """Scores tokens with a `Dense` layer, or with their embeddings.

    Args:
        layer: The layer, which belongs to the model.
        is_tied: Whether the layer is the target embedding, which has no bias.
        **kwargs: Keras layer arguments, such as `dtype`.

    Raises:
        ValueError: When called, if outputs do not have the size of the
            embeddings.
    """

    streams = True

    def __init__(self, layer: keras.layers.Layer, is_tied: bool, **kwargs):
        super().__init__(**kwargs)
        self.layer, self.is_tied = layer, is_tied

    def call(self, decoded, prepared, training=None):
        return self._score(decoded.outputs), None

    def step(self, decoded, state, prepared):
        outputs = decoded.outputs
        # Keras' product of more axes takes a dozen operations more.
        scores = self._score(ops.reshape(outputs, (-1, outputs.shape[-1])))
        shape = *ops.shape(outputs)[:-1], scores.shape[-1]
        return reshaped(scores, shape), None, state

    def _score(self, outputs):
        if not self.is_tied:
            return self._multiply(outputs) if hoists() else self.layer(outputs)
        size = self.layer.output_dim
        if outputs.shape[-1] != size:
            raise ValueError(
                "`tie_embeddings` needs decoder outputs with the size of the "
                f"embeddings. Received: outputs of size {outputs.shape[-1]}, "
                f"embedding_dim={size}. Set attention_layer_size={size} in the "
                "cell."
            )
        return self.layer(outputs, reverse=True)

    def _multiply(self, outputs):
        """Call the layer; on torch, Keras takes as long as for ten products."""
        layer = self.layer
        if layer.quantization_mode is not None:
            return layer(outputs)
        dtype = layer.compute_dtype
        x, kernel = cast(outputs, dtype), in_dtype(layer.kernel, dtype)
        # Not `+`: TensorFlow fuses this with the product.
        bias = ops.cast(layer.bias, dtype)
        return ops.add(plain_product(x, kernel), bias)

    def refuse_list(self):
        mode = self.layer.quantization_mode
        return mode and f"an output layer quantized to {mode}"

    def features(self, decoded, prepared):
        return decoded.outputs

    def rows(self, ids):
        """Return the kernel and the bias of some tokens.

        Args:
            ids: Int32 `(B, S)`.

        Returns:
            `(B, S, D)` and `(B, S)`.
        """
        layer, dtype = self.layer, self.compute_dtype
        if not self.is_tied:
            return rows_of(layer.kernel, layer.bias, ids, dtype)
        kernel = take_rows(ops.convert_to_tensor(layer.embeddings), ids)
        return ops.cast(kernel, dtype), ops.zeros_like(ids, dtype)


def rows_of(kernel, bias, ids, dtype) -> tuple:
    """Return columns of a kernel as rows, and the entries of its bias."""
    # Rows are taken faster than columns, this transposition included.
    kernel = ops.transpose(ops.convert_to_tensor(kernel))
    bias = take_rows(ops.convert_to_tensor(bias), ids)
    return ops.cast(take_rows(kernel, ids), dtype), ops.cast(bias, dtype)
