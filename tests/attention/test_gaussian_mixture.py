"""GaussianMixtureAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract

from keras_attention import GaussianMixtureAttention


class TestGaussianMixtureAttention(ProjectedAttentionContract):
    layer_class = GaussianMixtureAttention
    init_kwargs = {"components": 2}
    kernel_names = ("kernel",)

    def reference_weights(self, query, key, mask, real, w):
        kappa, every = np.zeros(2), []
        for q, seen in zip(query, mask, strict=True):
            alpha, beta, step = np.exp(q @ w["kernel"] + w["bias"]).reshape(
                3, 2
            )
            kappa = kappa + step
            every.append(
                [
                    sum(alpha * np.exp(-beta * (kappa - u) ** 2)) * seen[u - 1]
                    for u in range(1, len(key) + 1)
                ]
            )
        return np.array(every)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_large_inputs_stay_finite(self, dtype):
        """Large queries; weights are not normalized, so values may not be."""
        query, value = self.inputs()
        layer = self.layer(dtype=dtype)
        query, value = 1e4 * np.sign(query), np.sign(value)
        for x in self.run(layer, query, value, value_mask=None):
            assert np.isfinite(x).all()

    def test_moves_on_by_one_without_a_query(self):
        query, value = self.inputs(steps=4, words=6)
        layer = self.layer()
        _, weights = self.run(layer, 0 * query, value)
        assert weights.argmax(-1).tolist() == [[0, 1, 2, 3]] * 2
