"""BahdanauAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract
from gradients import to_numpy

from keras_attention import BahdanauAttention


class TestBahdanauAttention(ProjectedAttentionContract):
    layer_class = BahdanauAttention
    init_kwargs = {"units": 4}
    kernel_names = ("query_kernel", "key_kernel", "score_vector")

    def reference_score(self, query, key, weights):
        hidden = query @ weights["query_kernel"] + key @ weights["key_kernel"]
        return weights["score_vector"] @ np.tanh(hidden)

    def test_scores_are_bounded(self):
        """No score leaves [-sum|v|, sum|v|], however large the inputs."""
        query, value = self.inputs()
        layer = self.layer(kernel_initializer="ones")
        _, weights = self.run(layer, query, 1e4 * value)
        ratio = weights.max(-1) / weights.min(-1)
        assert (ratio <= np.exp(2 * 4) * 1.001).all()


class TestBahdanauAttentionNormalized(ProjectedAttentionContract):
    variant = True
    layer_class = BahdanauAttention
    init_kwargs = {"units": 4, "normalize": True}
    kernel_names = ("query_kernel", "key_kernel", "score_vector")

    def reference_score(self, query, key, weights):
        hidden = query @ weights["query_kernel"] + key @ weights["key_kernel"]
        vector = weights["score_vector"]
        unit = weights["gain"] * vector / np.linalg.norm(vector)
        return unit @ np.tanh(hidden + weights["bias"])

    @pytest.mark.parametrize("units", [1, 4, 9])
    def test_gain_starts_at_one_over_sqrt_units(self, units):
        layer = self.layer(units=units)
        layer.build((None, None, 3), (None, None, 5))
        assert float(to_numpy(layer.gain)) == pytest.approx(1 / np.sqrt(units))

    def test_length_of_the_vector_does_not_matter(self):
        query, value = self.inputs()
        layer = self.trained()
        before = self.run(layer, query, value)
        layer.score_vector.assign(1e3 * to_numpy(layer.score_vector))
        after = self.run(layer, query, value)
        np.testing.assert_allclose(before[1], after[1], atol=1e-6)
