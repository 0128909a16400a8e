"""LocationAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract

from keras_attention import LocalPredictive
from keras_attention import LocationAttention


class TestLocationAttention(ProjectedAttentionContract):
    layer_class = LocationAttention
    init_kwargs = {"max_length": 9}
    kernel_names = ("kernel",)

    def reference_scores(self, query, key, weights):
        return (query @ weights["kernel"])[:, : len(key)]

    @pytest.mark.parametrize("mask", [None, [[1, 0, 1, 1, 1, 1, 1]] * 2])
    def test_positions_beyond_get_no_weight(self, mask):
        query, value = self.inputs(words=7)
        layer = self.trained(max_length=4)
        mask = None if mask is None else np.array(mask, bool)
        context, weights = self.run(layer, query, value, value_mask=mask)
        assert weights.shape == (2, 3, 7)
        assert (weights[:, :, 4:] == 0).all()
        near = None if mask is None else mask[:, :4]
        want = self.run(layer, query, value[:, :4], value_mask=near)
        np.testing.assert_allclose(context, want[0], atol=1e-6)
        np.testing.assert_allclose(weights[:, :, :4], want[1], atol=1e-6)

    def test_holes_count_and_padding_in_front_does_not(self):
        query, value = self.inputs(words=6)
        mask = np.array([[0, 1, 0, 1, 1, 1]] * 2, bool)
        layer = self.trained(max_length=4)
        _, weights = self.run(layer, query, value, value_mask=mask)
        scores = np.exp(query @ self.named(layer)["kernel"])
        scores *= mask[0, 1:5]
        scores /= scores.sum(-1, keepdims=True)
        np.testing.assert_allclose(weights[:, :, 1:5], scores, atol=1e-5)
        assert (weights[:, :, [0, 5]] == 0).all()

    def test_a_predicted_window_counts_the_whole_source(self):
        """`S` of LocalPredictive is the row's length, reached or not."""
        query, value = self.inputs(words=7)
        layer = self.trained(max_length=4, alignment=LocalPredictive(2))
        layer.aligner.position_vector.assign(
            0 * layer.aligner.position_vector
        )  # p = S / 2: 3.5 of 7 words, of which 2 and 3 are in reach
        _, weights = self.run(layer, query, value)
        assert (weights[:, :, 2:4] > 0).all()
        assert (weights[:, :, [0, 1, 4, 5, 6]] == 0).all()
