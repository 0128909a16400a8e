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


@pytest.mark.variant
class TestBahdanauAttentionNormalized(ProjectedAttentionContract):
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
