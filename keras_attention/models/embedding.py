"""Source and target embeddings of a model."""

import math

import keras
from keras import ops

from keras_attention.layers import Embedding
from keras_attention.layers import ReversibleEmbedding

UNKNOWN = 1  # id of all words that are not in the vocabulary


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
    return math.sqrt(layer.output_dim) * layer(ids, training=training)
