"""Tensors that carry a mask, as layers of Keras give them."""

import keras
from keras import ops

from keras_attention.layers import carried_mask


class _Masks(keras.layers.Layer):
    def __init__(self, mask):
        super().__init__(autocast=False)
        self.mask = mask

    def call(self, x):
        return x

    def compute_mask(self, x, previous_mask=None):
        return self.mask


def masked(x, mask):
    """Return a tensor that carries a mask."""
    found = _Masks(mask)(ops.convert_to_tensor(x))
    assert carried_mask(found) is mask
    return found


def all_padding(x):
    """Return a tensor `(B, T, ...)` whose mask says that nothing is real."""
    return masked(x, ops.zeros(x.shape[:2], "bool"))
