"""Embeddings and dropout that replace those of Keras.

On TensorFlow, Keras' optimizers treat each occurrence of a token as a separate
row; see `look_up`. These embeddings add up the gradients of the same token.
Keras' dropout drops the same features in every replica of a strategy; this
dropout does not.

All are components of other layers, and are not saved by themselves. Weight
files identify them by class name, so they have the same names as in Keras.
"""

import math

import keras
from keras.backend import standardize_dtype

from keras_attention.backend import ops
from keras_attention.layers.base import AbstractDenseLayer
from keras_attention.ops import hoist
from keras_attention.ops import product
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoists
from keras_attention.ops.operations import is_portable
from keras_attention.ops.replicas import own_seed
from keras_attention.ops.rows import look_up
from keras_attention.ops.rows import take_rows
from keras_attention.steps.primitives import UNKNOWN


class Embedding(AbstractDenseLayer, keras.layers.Embedding):
    """Embeds like Keras' layer; adds up the gradients of a token."""

    def call(self, inputs, training: bool | None = None):
        return _look_up(self, inputs) if training else super().call(inputs)

    def compute_output_spec(self, inputs, training: bool | None = None):
        return super().compute_output_spec(inputs)


class ReversibleEmbedding(AbstractDenseLayer, keras.layers.ReversibleEmbedding):
    """Embeds and scores like Keras' layer; adds up gradients of a token."""

    def call(self, inputs, reverse: bool = False, training: bool | None = None):
        if training and not reverse:
            return _look_up(self, inputs)
        dtype = standardize_dtype(inputs.dtype)
        if reverse and hoists() and dtype == dtype_of(self.embeddings):
            # Transposed in every step, it takes most of the time of a few rows.
            return product(inputs, hoist(_transposed, self.embeddings))
        return super().call(inputs, reverse=reverse)

    def take_known(self, ids):
        """Embed ids that a search generated, which are in range.

        Args:
            ids: Integer tensor of any shape.
        """
        table = ops.convert_to_tensor(self.embeddings)
        rows = take_rows(table, ops.cast(ids, "int32"))
        return ops.cast(rows, self.compute_dtype)

    def compute_output_spec(
        self, inputs, reverse: bool = False, training: bool | None = None
    ):
        return super().compute_output_spec(inputs, reverse=reverse)


def _look_up(layer, ids):
    table = ops.convert_to_tensor(layer.embeddings, layer.compute_dtype)
    return look_up(table, ops.cast(ids, "int32"))


def _transposed(embeddings):
    return ops.transpose(ops.convert_to_tensor(embeddings))


class Dropout(keras.layers.Dropout):
    """Drops inputs like Keras' layer, but differently in every replica."""

    def call(self, inputs, training: bool | None = False):
        if not training or not self.rate:
            return inputs
        return keras.random.dropout(
            inputs,
            self.rate,
            noise_shape=self.noise_shape,
            seed=own_seed(self.seed_generator),
        )


def with_a_position(ids):
    """Pad ids without any position by one, as recurrent layers need one.

    Args:
        ids: `(B, Tv, ...)`.

    Returns:
        Ids `(B, max(Tv, 1), ...)`. A portable program gets no such ids.
    """
    if ids.shape[1] or is_portable() or isinstance(ids, keras.KerasTensor):
        return ids
    rows, size, *rest = ops.shape(ids)
    blank = ops.zeros((rows, 1, *rest), ids.dtype)[:, : 1 - size]
    return ops.concatenate([ids, blank], axis=1)


class WordDropout(keras.layers.Layer):
    """Drops all occurrences of a token in a sequence together.

    Formula:

        outputs[t] = keep[ids[t]] / (1 - rate) * embedded[t]

    `keep` is 1 with probability `1 - rate` and else 0, drawn once for each
    sequence and each id in it.

    Args:
        rate: Rate at which tokens are dropped, in `[0, 1)`.
        **kwargs: Keras layer arguments, such as `dtype` and `name`.

    Call arguments:
        embedded: Embedded tokens `(B, T, E)`.
        ids: Their ids `(B, T)`.
        training: Whether to drop tokens.

    Returns:
        `(B, T, E)`.

    Reference:
        [Gal & Ghahramani, 2016](https://arxiv.org/abs/1512.05287), section 4.2.
    """

    def __init__(self, rate: float, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        if rate:
            self.seed_generator = keras.random.SeedGenerator()
        self.built = True

    def call(self, embedded, ids, training: bool | None = False):
        if not training or not self.rate:
            return embedded
        ids = with_a_position(ids)  # as `argmax` needs one
        seed = own_seed(self.seed_generator)
        drawn = keras.random.uniform(ops.shape(ids), seed=seed)
        # Each position takes what was drawn where its word is first.
        same = ops.equal(ids[:, :, None], ids[:, None, :])  # (B, T, T)
        first = ops.argmax(ops.cast(same, "int32"), axis=-1)
        keep = ops.take_along_axis(drawn, first, axis=1) >= self.rate
        keep = ops.cast(keep, embedded.dtype) / (1 - self.rate)
        return embedded * keep[:, : ops.shape(embedded)[1], None]


def make_embeddings(
    source_size: int | None, target_size: int, units: int, shared: bool, dtype
) -> tuple:
    """Create the embeddings of source and target.

    They are initialized with variance `1 / units`, and `embed` scales them by
    `sqrt(units)` to variance 1. With the variance of Keras' default, 0.0008,
    the loss of an LSTM stays on a plateau for its first epoch.

    Args:
        source_size: Number of source ids, or `None` for features.
        target_size: Number of target ids.
        units: Size of the embeddings.
        shared: Whether both share one layer.
        dtype: Dtype policy of the layers.

    Returns:
        The source embedding, or `None` for features; and the target embedding.
    """
    spread = keras.initializers.RandomNormal(stddev=1 / math.sqrt(units))
    source = None
    if source_size is not None and not shared:
        source = Embedding(
            source_size,
            units,
            embeddings_initializer=spread,
            name="source_embedding",
            dtype=dtype,
        )
    target = ReversibleEmbedding(
        target_size,
        units,
        embeddings_initializer=spread.clone(),
        name="target_embedding",
        dtype=dtype,
    )
    return target if shared else source, target


def embed(layer, ids, size: int | None, training: bool | None):
    """Embed ids, scaled to variance 1.

    Args:
        layer: One of the embeddings.
        ids: Ids `(...)`.
        size: Vocabulary size; ids beyond it are embedded as unknown. `None` if
            there are no such ids.
        training: Whether gradients are needed.

    Returns:
        `(..., E)`.
    """
    if size is not None:
        ids = ops.where(ids < size, ids, UNKNOWN)
    is_known = hoists() and isinstance(layer, ReversibleEmbedding)
    if is_known and layer.quantization_mode is None:
        words = layer.take_known(ids)  # a call takes as long as ten operations
    else:
        words = layer(ids, training=training)
    return math.sqrt(layer.output_dim) * words
