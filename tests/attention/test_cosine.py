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
