"""LuongGeneral: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract
from gradients import to_numpy

from keras_attention import LuongGeneral


class TestLuongGeneral(ProjectedAttentionContract):
    layer_class = LuongGeneral
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return query @ weights["kernel"] @ key

    def test_one_and_zero_are_true_and_false(self):
        assert [LuongGeneral(x).use_scale for x in (1, 0)] == [True, False]


@pytest.mark.variant
class TestLuongGeneralScaled(ProjectedAttentionContract):
    layer_class = LuongGeneral
    init_kwargs = {"use_scale": True}
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return weights["scale"] * (query @ weights["kernel"] @ key)

    def test_scale_starts_at_one(self):
        layer = self.layer()
        layer(*self.inputs())
        assert float(to_numpy(layer.scale)) == 1


@pytest.mark.variant
class TestLuongGeneralOverRoot(ProjectedAttentionContract):
    layer_class = LuongGeneral
    init_kwargs = {"use_scale": "sqrt"}
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return query @ weights["kernel"] @ key / np.sqrt(len(query))

    def test_it_has_no_weight_for_it(self):
        layer = self.layer()
        layer(*self.inputs())
        assert len(layer.weights) == 1
