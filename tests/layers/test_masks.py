"""The mask that Keras carries along, read off a tensor."""

import keras
import numpy as np
import samples

from keras_attention.layers.masks import carried_mask

IDS = np.array([[4, 5, 0], [6, 0, 0]])


class Bare(keras.layers.Layer):
    """Hands on what it reads, from the one argument that it has."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, x):
        mask = carried_mask(x)
        return x[..., 0] * 0 + (
            -1.0 if mask is None else keras.ops.cast(mask, x.dtype)
        )


def embedding(mask_zero=True):
    return keras.layers.Embedding(10, 4, mask_zero=mask_zero)


def test_reads_the_mask_of_an_embedding():
    mask = samples.to_numpy(carried_mask(embedding()(IDS)))
    np.testing.assert_array_equal(mask, IDS != 0)


def test_there_may_be_none():
    assert carried_mask(embedding(mask_zero=False)(IDS)) is None


def test_reads_it_inside_a_compiled_model():
    """Where JAX traces, a tensor has no attribute of that name."""
    inputs = keras.Input((None,), dtype="int32")
    for mask_zero, want in ((True, IDS != 0), (False, -1)):
        features = embedding(mask_zero)(inputs)
        model = keras.Model(inputs, Bare()(features))
        np.testing.assert_array_equal(model.predict(IDS, verbose=0), want)
