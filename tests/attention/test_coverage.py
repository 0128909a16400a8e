"""CoverageAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract
from gradients import to_numpy
from reference import coverage_weights

from keras_attention import CoverageAttention
from keras_attention.attention.coverage import coverage_loss

KERNELS = ("query_kernel", "key_kernel", "score_vector", "coverage_vector")


class TestCoverageAttention(ProjectedAttentionContract):
    layer_class = CoverageAttention
    init_kwargs = {"units": 4}
    kernel_names = KERNELS

    def reference_weights(self, query, key, mask, real, w):
        return coverage_weights(query, key, mask, w)

    def test_starts_from_nothing(self):
        _, value = self.inputs()
        layer = self.trained()
        (covered,) = layer.initial_state(layer.prepare(value), beams=3)
        np.testing.assert_array_equal(to_numpy(covered), np.zeros((2, 3, 5)))

    def test_carries_the_sum(self):
        query, value = self.inputs(steps=4)
        layer = self.trained()
        memory = layer.prepare(value)
        state, total = layer.initial_state(memory), 0
        for t in range(4):
            one = query[:, t : t + 1]
            _, weights, state = self.run_step(layer, one, memory, state)
            total = total + weights
            np.testing.assert_allclose(to_numpy(state[0]), total, atol=1e-6)

    def test_sums_beyond_half_precision(self):
        query, value = self.inputs(steps=1, words=1)
        layer = self.trained(dtype="float16")
        memory = layer.prepare(value)
        (covered,) = layer.initial_state(memory)
        *_, (covered,) = self.run_step(layer, query, memory, (covered + 4096,))
        assert to_numpy(covered)[0, 0, 0] == 4097

    @pytest.mark.parametrize("units", [0, -1])
    def test_refuses_units_not_positive(self, units):
        with pytest.raises(ValueError, match="`units` must be a positive"):
            self.layer(units=units)


class TestCoverageLoss:
    def called(self, weight, **kwargs):
        layer = CoverageAttention(4, coverage_loss=weight)
        draw = np.random.default_rng(0).normal
        _, weights = layer(
            draw(size=(2, 3, 3)),
            draw(size=(2, 6, 5)),
            return_attention_scores=True,
            **kwargs,
        )
        return layer, weights

    def test_none_is_added_unless_asked(self):
        layer, _ = self.called(0.0)
        assert layer.losses == []

    @pytest.mark.parametrize("mask", [None, [[1, 1, 0], [1, 0, 0]]])
    def test_is_that_of_the_weights(self, mask):
        mask = None if mask is None else np.array(mask, bool)
        layer, weights = self.called(0.5, query_mask=mask)
        (loss,) = layer.losses
        want = 0.5 * to_numpy(coverage_loss(weights, mask))
        assert float(to_numpy(loss)) == pytest.approx(float(want))
        assert want > 0

    def test_comes_back_from_its_config(self):
        layer = CoverageAttention(4, coverage_loss=0.5)
        again = CoverageAttention.from_config(layer.get_config())
        assert again.coverage_loss == 0.5

    def test_refuses_a_negative_weight(self):
        with pytest.raises(ValueError, match="must be a non-negative"):
            CoverageAttention(4, coverage_loss=-1.0)
