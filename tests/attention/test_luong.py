"""LuongGeneral: what the contract cannot know about it."""

import numpy as np
from contract import ProjectedAttentionContract
from gradients import to_numpy

from keras_attention import DotAttention
from keras_attention import LuongGeneral


class TestLuongGeneral(ProjectedAttentionContract):
    layer_class = LuongGeneral
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return query @ weights["kernel"] @ key

    def test_the_kernel_maps_key_to_query(self):
        """It is the transposed kernel of TFA's memory layer."""
        query, value = self.inputs()
        layer = self.layer()
        layer(query, value)
        assert layer.kernel.shape == (self.query_size, self.value_size)

    def test_a_unit_kernel_is_the_inner_product(self):
        query, _ = self.inputs()
        layer = self.layer(kernel_initializer="identity")
        got = self.run(layer, query, query)
        want = self.run(DotAttention(), query, query)
        np.testing.assert_allclose(got[1], want[1], atol=1e-6)


class TestLuongGeneralScaled(ProjectedAttentionContract):
    variant = True
    layer_class = LuongGeneral
    init_kwargs = {"use_scale": True}
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return weights["scale"] * (query @ weights["kernel"] @ key)

    def test_scale_starts_at_one(self):
        layer = self.layer()
        layer(*self.inputs())
        assert float(to_numpy(layer.scale)) == 1
