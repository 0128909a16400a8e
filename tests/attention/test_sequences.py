"""attend_in_order: the steps of a sequence, one after the other."""

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocationAwareAttention
from keras_attention import Memory
from keras_attention import Monotonic
from keras_attention import MultiHead
from keras_attention.attention.sequences import attend_in_order

B, TQ, TV, D = 2, 3, 4, 5


@pytest.mark.parametrize("masked", [False, True])
def test_states_masks_and_noise_belong_to_their_step(masked):
    draw = np.random.default_rng(0).normal
    query, values = draw(size=(B, TQ, D)), draw(size=(B, TV, D))
    noise = draw(size=(TQ, B, 1, TV))
    mask = draw(size=(B, TQ, TV)) > 0 if masked else None

    def attend(query, memory, visible, state, noise):
        (count,) = state
        weights = noise + count
        if visible is not None:
            weights = weights * ops.cast(visible, "float64")
        return query + memory.values[:, :1], weights, (count + 1,)

    context, weights = attend_in_order(
        attend,
        to_tensor(query),
        Memory(None, to_tensor(values)),
        None if mask is None else to_tensor(mask),
        (to_tensor(np.zeros((B, 1, 1))),),
        to_tensor(noise),
        D,
    )
    wanted = noise[:, :, 0].swapaxes(0, 1) + np.arange(TQ)[:, None]
    wanted = wanted * mask if masked else wanted
    np.testing.assert_allclose(to_numpy(weights), wanted, atol=1e-12)
    np.testing.assert_allclose(
        to_numpy(context), query + values[:, :1], atol=1e-12
    )


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
