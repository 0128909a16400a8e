"""Dropout whose masks differ between the replicas of a strategy."""

import keras

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
