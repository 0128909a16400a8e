"""CosineAttention: what the contract cannot know about it."""

import math

import numpy as np
import pytest
from contract import AttentionContract
from gradients import to_numpy

from keras_attention import CosineAttention


class TestCosineAttention(AttentionContract):
    layer_class = CosineAttention
    init_kwargs = {"beta": 2.0}
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, weights):
        lengths = np.linalg.norm(query) * np.linalg.norm(key)
        return np.exp(weights["log_beta"]) * (query @ key) / lengths

    @pytest.mark.parametrize("factor", [1e-3, 10.0, 1e4])
    def test_length_of_the_query_does_not_matter(self, factor):
        query, value = self.inputs()
        layer = self.layer()
        _, short = self.run(layer, query, value)
        _, long = self.run(layer, factor * query, value)
        np.testing.assert_allclose(short, long, atol=1e-6)

    def test_length_of_a_key_does_not_matter(self):
        query, value = self.inputs()
        lengths = np.array([1e-3, 1.0, 10.0, 1e3, 1e4])[None, :, None]
        layer = self.layer()
        _, short = self.run(layer, query, value)
        _, long = self.run(layer, query, lengths * value)
        np.testing.assert_allclose(short, long, atol=1e-6)

    def test_zero_query_attends_evenly(self):
        query, value = self.inputs(words=5)
        _, weights = self.run(self.layer(), 0 * query, value)
        np.testing.assert_allclose(weights, 1 / 5, atol=1e-6)

    def test_beta_one_is_soft(self):
        east = np.array([[[1.0, 0.0]]])
        value = np.concatenate([east] + 49 * [-east], axis=1)
        _, weights = self.run(self.layer(beta=1.0), east, value)
        assert weights.max() == pytest.approx(0.131, abs=1e-3)

    def test_starts_from_beta(self):
        layer = self.layer(beta=3.0)
        layer(*self.inputs())
        assert float(to_numpy(layer.log_beta)) == pytest.approx(math.log(3.0))

    @pytest.mark.parametrize("learn_beta", [True, False])
    def test_training_may_change_beta(self, learn_beta):
        layer = self.layer(learn_beta=learn_beta)
        layer(*self.inputs())
        assert len(layer.weights) == 1
        assert len(layer.trainable_weights) == learn_beta
