"""CoverageAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract
from gradients import check_gradients
from gradients import to_numpy
from gradients import to_tensor
from reference import coverage_weights

from keras_attention import CoverageAttention
from keras_attention.attention.coverage import coverage_loss

KERNELS = ("query_kernel", "key_kernel", "score_vector", "coverage_vector")
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3))
MASK = np.array([[1, 1, 0], [0, 1, 1]], bool)


class TestCoverageAttention(ProjectedAttentionContract):
    layer_class = CoverageAttention
    init_kwargs = {"units": 4}
    kernel_names = KERNELS

    def reference_weights(self, query, key, mask, real, w):
        return coverage_weights(query, key, mask, w)

    def test_sums_beyond_half_precision(self):
        query, value = self.inputs(steps=1, words=1)
        layer = self.trained(dtype="float16")
        memory = layer.prepare(value)
        (covered,) = layer.initial_state(memory)
        *_, (covered,) = self.run_step(layer, query, memory, (covered + 4096,))
        assert to_numpy(covered)[0, 0, 0] == 4097


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


def loss_of(weights, mask=None):
    return float(to_numpy(coverage_loss(to_tensor(weights), mask)))


def loss_by_steps(weights, mask):
    """Equation 12, step by step, over the steps that are real."""
    losses = []
    for row, real in zip(weights, mask, strict=True):
        covered = np.zeros(row.shape[-1])
        for a in row[real]:
            losses.append(np.minimum(a, covered).sum())
            covered += a
    return np.mean(losses)


@pytest.mark.parametrize("mask", [None, MASK], ids=["", "masked"])
def test_agrees_with_the_paper(mask):
    real = np.ones((2, 3), bool) if mask is None else mask
    assert loss_of(WEIGHTS, mask) == pytest.approx(loss_by_steps(WEIGHTS, real))


def test_no_real_step_no_loss():
    assert loss_of(WEIGHTS, np.zeros((2, 3), bool)) == 0


def test_masked_steps_may_hold_anything():
    weights = np.where(MASK[..., None], WEIGHTS, np.nan)
    assert loss_of(weights, MASK) == pytest.approx(loss_of(WEIGHTS, MASK))


def test_sums_in_float32():
    weights = np.full((1, 3000, 1), 1, "float16")
    assert loss_of(weights) == pytest.approx(2999 / 3000, rel=1e-6)


def test_gradients_are_slopes():
    check_gradients(lambda x: coverage_loss(x, MASK), [WEIGHTS])
