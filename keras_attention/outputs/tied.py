"""The output that is the target embedding, transposed."""

import functools

import keras
from keras import ops

from keras_attention.ops.rows import take_rows
from keras_attention.outputs.base import AbstractOutput
from keras_attention.outputs.dense import by_rows


class TiedOutput(AbstractOutput):
    """Scores words by their embeddings, without a bias.

    Args:
        embedding: The target embedding, which belongs to the model.
        **kwargs: Keras layer arguments, such as `dtype`.

    Raises:
        ValueError: When called, if outputs have not the embeddings' size.
    """

    streams = True

    def __init__(self, embedding: keras.layers.ReversibleEmbedding, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding

    def call(self, decoded, prepared, training=None):
        self._check_size(decoded.outputs)
        return self.embedding(decoded.outputs, reverse=True), None

    def step(self, decoded, state, prepared):
        score = functools.partial(self.embedding, reverse=True)
        return by_rows(score, decoded.outputs), None, state

    def _check_size(self, outputs):
        size = self.embedding.output_dim
        if outputs.shape[-1] != size:
            raise ValueError(
                "`tie_embeddings` needs a decoder whose outputs have the size "
                "of the embeddings. Received: outputs of size "
                f"{outputs.shape[-1]}, embedding_dim={size}. "
                "Set attention_layer_size of its cell to embedding_dim."
            )

    def refuse_list(self):
        mode = self.embedding.quantization_mode
        return mode and f"an output layer quantized to {mode}"

    def features(self, decoded, prepared):
        return decoded.outputs

    def rows(self, ids):
        kernel = ops.convert_to_tensor(self.embedding.embeddings)
        kernel = ops.cast(take_rows(kernel, ids), self.compute_dtype)
        return kernel, ops.zeros_like(ids, self.compute_dtype)
