"""Dropout: the numbers of Keras' layer. (Replicas: `tests/backend`.)"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import Dropout


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("training", [False, True])
def test_is_keras_dropout(rate, training):
    x = np.ones((3, 8), "float32")
    one, other = (
        ops.convert_to_numpy(layer(rate, seed=1)(x, training=training))
        for layer in (Dropout, keras.layers.Dropout)
    )
    np.testing.assert_array_equal(one, other)
    assert (one == 0).any() == (training and rate > 0)
