"""coverage: the loss of looking twice."""

import numpy as np
import pytest
from gradients import check_gradients
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.attention.coverage import coverage_loss

WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3))
MASK = np.array([[1, 1, 0], [0, 1, 1]], bool)


def run(weights, mask=None):
    return float(to_numpy(coverage_loss(to_tensor(weights), mask)))


def by_steps(weights, mask):
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
    assert run(WEIGHTS, mask) == pytest.approx(by_steps(WEIGHTS, real))


def test_looking_once_costs_nothing():
    assert run(np.eye(4)[None]) == 0


def test_looking_at_one_place_costs_all_but_the_first_step():
    weights = np.zeros((1, 5, 3))
    weights[..., 1] = 1
    assert run(weights) == pytest.approx(4 / 5)


def test_no_real_step_no_loss():
    assert run(WEIGHTS, np.zeros((2, 3), bool)) == 0


def test_masked_steps_may_hold_anything():
    weights = np.where(MASK[..., None], WEIGHTS, np.nan)
    assert run(weights, MASK) == pytest.approx(run(WEIGHTS, MASK))


def test_sums_in_float32():
    weights = np.full((1, 3000, 1), 1, "float16")
    assert run(weights) == pytest.approx(2999 / 3000, rel=1e-6)


def test_gradients_are_slopes():
    check_gradients(lambda x: coverage_loss(x, MASK), [WEIGHTS])
