"""Laws of dropout: of weights, in training, drawn before any loop."""

import itertools

import keras
import numpy as np
from contracts.case import AttentionCase
from gradients import to_numpy
from keras import ops


class NoiseLaws(AttentionCase):
    def kept(self, layer, batch=2, **kwargs):
        """How much of each weight reached the context, and the weights.

        The value is a unit matrix, so that the context is the weights that
        were used; a weight of 0 is left out.
        """
        query, _ = self.inputs(batch=batch)
        value = np.stack([np.eye(5, dtype="float32")] * batch)
        context, weights = self.run(
            layer, query, value, key=self.key(batch), **kwargs
        )
        return context[weights > 0] / weights[weights > 0], weights

    def test_drops_in_training_alone(self):
        for training in (None, False):
            kept, _ = self.kept(self.layer(dropout=0.5), training=training)
            np.testing.assert_allclose(kept, 1, atol=1e-5)

    def test_weights_come_back_before_dropout(self):
        layer = self.layer(dropout=0.5, seed=1)
        _, plain = self.kept(layer, 20)
        kept, weights = self.kept(layer, 20, training=True)
        np.testing.assert_allclose(weights, plain, atol=1e-6)
        assert (kept == 0).any()

    def test_expectation_stays(self):
        keras.utils.set_random_seed(0)  # no weight so small that it is inexact
        kept, _ = self.kept(self.layer(dropout=0.4, seed=1), 60, training=True)
        dropped = kept == 0
        np.testing.assert_allclose(kept[~dropped], 1 / 0.6, atol=1e-4)
        assert abs(dropped.mean() - 0.4) < 4 * np.sqrt(0.4 * 0.6 / kept.size)

    def test_seeds_decide(self):
        def calls(seed):
            keras.utils.set_random_seed(0)  # one set of kernels
            layer = self.layer(dropout=0.5, seed=seed)
            while True:
                yield self.kept(layer, 8, training=True)[0]

        first, second = itertools.islice(calls(seed=3), 2)
        assert (first != second).any(), "the same mask at every call"
        np.testing.assert_array_equal(first, next(calls(seed=3)))
        assert (first != next(calls(seed=4))).any()

    def test_noise_is_drawn_for_all_steps(self):
        _, value = self.inputs()
        layer = self.layer(dropout=0.5, seed=1, dtype="mixed_bfloat16")
        layer.build((None, None, self.query_size), value.shape)
        memory = layer.prepare(value)
        noise = layer.draw_noise(memory, 7, 3)
        assert tuple(noise.shape) == (7, 2, 3, 5)
        assert noise.dtype == memory.values.dtype
        assert set(np.unique(to_numpy(noise))) == {0, 2}
        assert tuple(layer.draw_noise(memory, 7).shape) == (7, 2, 1, 5)
        assert tuple(layer.draw_noise(list(memory), 1).shape) == (1, 2, 1, 5)
        plain = self.trained()
        assert plain.draw_noise(plain.prepare(value), 7, 3) is None

    def test_a_step_uses_the_noise_it_is_given(self):
        query, value = self.inputs(steps=1)
        layer = self.trained(dropout=0.5)
        memory = layer.prepare(value)
        noise = np.array([[[0, 2, 0, 2, 2]]] * 2, "float32")
        _, plain, _ = self.run_step(layer, query, memory)
        context, weights, _ = self.run_step(
            layer, query, memory, noise=ops.convert_to_tensor(noise)
        )
        np.testing.assert_allclose(weights, plain, atol=1e-6)
        np.testing.assert_allclose(
            context, (weights * noise) @ value, atol=1e-5
        )
