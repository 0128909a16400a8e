"""KernelAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import AttentionContract
from gradients import to_numpy

from keras_attention import KernelAttention


class TestKernelAttention(AttentionContract):
    layer_class = KernelAttention
    init_kwargs = {"bandwidth": 1.5}
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, weights):
        bandwidth = np.exp(weights["log_bandwidth"])
        return -np.sum((query - key) ** 2) / (2 * bandwidth**2)

    def test_is_the_regression_of_nadaraya_and_watson(self):
        draw = np.random.default_rng(0).uniform
        x, y, at = draw(0, 5, 40), draw(-1, 1, 40), np.linspace(0, 5, 7)
        kernel = np.exp(-((at[:, None] - x) ** 2) / (2 * 0.3**2))
        want = kernel @ y / kernel.sum(-1)
        query, key, value = (z[None, :, None] for z in (at, x, y))
        layer = self.layer(bandwidth=0.3, dtype="float64")
        got = to_numpy(layer(query, value, key))
        np.testing.assert_allclose(got[0, :, 0], want, atol=1e-12)

    def test_where_things_are_does_not_matter(self):
        """Years, in float32: squares first would lose the distances."""
        query, value = self.inputs()
        query, value = np.round(query), np.round(value)
        layer = self.trained()
        near = self.run(layer, query, value)
        far = self.run(layer, query + 20_000, value, key=value + 20_000)
        np.testing.assert_allclose(far[1], near[1], atol=1e-6)

    def test_the_bandwidth_is_not_rounded_to_half_precision(self):
        """Its logarithm lies between two numbers of float16, 8 and 8.0078."""
        layer = self.layer(bandwidth=2993, dtype="mixed_float16")
        x = 1000 * np.arange(12.0)[None, :, None]
        want = np.exp(-((x[0, :, 0] / 2993) ** 2) / 2)
        got = to_numpy(self.run(layer, x[:, :1], x)[1])[0, 0]
        np.testing.assert_allclose(got, want / want.sum(), atol=3e-4)

    @pytest.mark.parametrize("learn", [True, False])
    def test_training_may_change_the_bandwidth(self, learn):
        layer = self.layer(learn_bandwidth=learn)
        layer(*self.inputs())
        assert len(layer.weights) == 1
        assert len(layer.trainable_weights) == learn
        start = np.exp(to_numpy(layer.log_bandwidth))
        assert float(start) == pytest.approx(1.5)
