"""Torch: nothing is kept for a gradient that nobody takes."""

import keras
import pytest
from keras import ops

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="needs torch as the backend"
)

if keras.backend.backend() == "torch":
    from keras_attention.backend.torch import compiled
    from keras_attention.backend.torch import is_traced


def test_no_tape():
    weight = keras.Variable([2.0, 3.0])
    x = ops.ones((1, 2))
    assert (x * weight).requires_grad
    found = compiled(lambda x: x * weight, [weight], [], False)(x)
    assert not found.requires_grad
    assert ops.convert_to_numpy(found).tolist() == [[2, 3]]


def test_nothing_is_ever_traced():
    assert not is_traced(ops.ones(2))
