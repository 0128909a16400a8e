"""AbstractKernelLayer: kernels are made alike, and start apart."""

import keras
import numpy as np
import pytest
from gradients import to_numpy

from keras_attention.layers import AbstractKernelLayer


class TwoKernels(AbstractKernelLayer):
    def build(self, shape):
        self.one = self.add_kernel("one", (shape[-1], 3))
        self.other = self.add_kernel("other", (shape[-1], 3))


def make(**kwargs):
    layer = TwoKernels(**kwargs)
    layer.build((None, 4))
    return layer


def values(layer):
    return [to_numpy(w) for w in (layer.one, layer.other)]


def test_the_given_initializer_stays_as_it_was():
    initializer = keras.initializers.GlorotUniform(seed=4)
    before = initializer.get_config()
    layer = make(kernel_initializer=initializer)
    assert layer.kernel_initializer is initializer
    assert initializer.get_config() == before


def test_kernels_are_read_at_full_precision():
    """What multiplies by them casts them, inside and outside of `call`."""

    class Reader(TwoKernels):
        def call(self, x):
            self.seen = keras.backend.standardize_dtype(self.one.value.dtype)
            return x

    layer = Reader(dtype="mixed_float16")
    layer(np.ones((2, 4)))
    assert layer.seen == "float32"


@pytest.mark.parametrize("what", ["initializer", "regularizer", "constraint"])
def test_refuses_unknown_names(what):
    with pytest.raises(ValueError, match="no_such_thing"):
        TwoKernels(**{f"kernel_{what}": "no_such_thing"})
