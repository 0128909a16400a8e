"""Dropout whose masks differ between the replicas of a strategy."""

import keras
from keras import ops

from keras_attention.ops.replicas import own_seed


class Dropout(keras.layers.Dropout):
    """Drops inputs as Keras' layer, which drops the same in every replica.

    It is a part of other layers, and is not saved by itself.
    """

    def call(self, inputs, training: bool | None = False):
        if not training or not self.rate:
            return inputs
        return keras.random.dropout(
            inputs,
            self.rate,
            noise_shape=self.noise_shape,
            seed=own_seed(self.seed_generator),
        )


class WordDropout(keras.layers.Layer):
    """Drops all occurrences of a word in a sequence together.

    Formula:

        outputs[t] = keep[ids[t]] / (1 - rate) * embedded[t]

    `keep` is 1 with probability `1 - rate` and else 0, drawn once for each
    sequence and each id in it. It is a part of other layers, and is not saved
    by itself.

    Args:
        rate: Rate at which words are dropped, in `[0, 1)`.
        **kwargs: Keras layer arguments, such as `dtype` and `name`.

    Call arguments:
        embedded: Embedded words `(B, T, E)`.
        ids: Their ids `(B, T)`.
        training: Whether to drop words.

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
        seed = own_seed(self.seed_generator)
        drawn = keras.random.uniform(ops.shape(ids), seed=seed)
        # Each position takes what was drawn where its word is first.
        same = ops.equal(ids[:, :, None], ids[:, None, :])  # (B, T, T)
        first = ops.argmax(ops.cast(same, "int32"), axis=-1)
        keep = ops.take_along_axis(drawn, first, axis=1) >= self.rate
        keep = ops.cast(keep, embedded.dtype) / (1 - self.rate)
        return embedded * keep[:, :, None]

    def compute_output_shape(self, embedded_shape, ids_shape) -> tuple:
        return embedded_shape
