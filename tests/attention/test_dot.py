"""DotAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import AttentionContract
from contracts.formula import FormulaLaws
from contracts.keras_layer import KerasLayerLaws

from keras_attention import DotAttention


class TestDotAttention(AttentionContract):
    layer_class = DotAttention
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, _):
        return query @ key

    def test_has_no_weights_without_a_learned_scale(self):
        for scale in (None, "sqrt"):
            layer = self.layer(scale=scale)
            layer(*self.inputs())
            assert layer.weights == []


@pytest.mark.variant
class TestDotAttentionOverSqrt(FormulaLaws, KerasLayerLaws):
    layer_class = DotAttention
    init_kwargs = {"scale": "sqrt"}
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, _):
        return query @ key / np.sqrt(4)


@pytest.mark.variant
class TestDotAttentionWithLearnedScale(AttentionContract):
    layer_class = DotAttention
    init_kwargs = {"scale": "learned"}
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, weights):
        return weights["scale"] * (query @ key)

    def test_scale_starts_at_one(self):
        query, value = self.inputs()
        got = self.run(self.layer(), query, value)
        want = self.run(self.layer(scale=None), query, value)
        np.testing.assert_array_equal(got[1], want[1])
