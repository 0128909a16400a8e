"""attend_in_order: the steps of a sequence, one after the other."""

import keras
import numpy as np
import pytest

from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocationAwareAttention
from keras_attention import Monotonic
from keras_attention import MultiHead

B, TQ, TV, D = 2, 3, 4, 5


class TestNoRows:
    """TensorFlow has nothing to write there; see `ops/loops.py`."""

    @pytest.mark.parametrize(
        "make",
        [
            lambda: CoverageAttention(3),
            lambda: DotAttention(alignment=Monotonic()),
            lambda: GaussianMixtureAttention(2),
            lambda: MultiHead(LocationAwareAttention(3, 2, 3), 2),
        ],
    )
    @pytest.mark.parametrize("compiled", [False, True])
    def test_they_are_as_many_as_came(self, make, compiled):
        layer = make()
        query, value = np.ones((2, TQ, D), "f"), np.ones((2, TV, D), "f")
        layer(query, value)

        def run():
            return layer(query[:0], value[:0], return_attention_scores=True)

        if compiled:
            run = compile_call(run)
        context, weights = run()
        assert tuple(context.shape) == (0, TQ, D)
        assert tuple(weights.shape) == (0, TQ, TV)


def compile_call(function):
    """Run a function in a graph, where the backend has one."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function)
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    return function
