"""monotonic: three ways to where a reader stops."""

import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.monotonic import step_hard
from keras_attention.ops.monotonic import step_softly
from keras_attention.ops.monotonic import stop_hard
from keras_attention.ops.monotonic import stop_in_parallel
from keras_attention.ops.monotonic import stop_recursively

SOFT = pytest.mark.parametrize("stop", [stop_in_parallel, stop_recursively])
EVERY = pytest.mark.parametrize(
    "stop", [stop_in_parallel, stop_recursively, stop_hard]
)
DRAW = np.random.default_rng(0)
ENERGIES = DRAW.normal(size=(2, 3, 6)) * 2
PREVIOUS = DRAW.dirichlet(np.ones(6), size=(2, 3))
MASK = np.array([[[1, 1, 0, 1, 1, 0]], [[0, 1, 1, 1, 0, 0]]], bool)


def run(stop, energies, previous, mask=None):
    mask = None if mask is None else to_tensor(mask)
    given = (to_tensor(np.asarray(x)) for x in (energies, previous))
    return to_numpy(stop(*given, mask))


def paths(p, previous):
    """Sum over every start k and stop j: eq. 7 of the paper, unrolled."""
    weights = np.zeros(p.shape)
    for j in range(p.shape[-1]):
        for k in range(j + 1):
            passed = np.prod(1 - p[..., k:j], axis=-1)
            weights[..., j] += previous[..., k] * passed * p[..., j]
    return weights


class TestSoft:
    @SOFT
    @pytest.mark.parametrize("mask", [None, MASK], ids=["", "masked"])
    def test_sums_over_all_paths(self, stop, mask):
        p = 1 / (1 + np.exp(-ENERGIES)) * (True if mask is None else mask)
        got = run(stop, ENERGIES, PREVIOUS, mask)
        np.testing.assert_allclose(got, paths(p, PREVIOUS), atol=1e-13)

    def test_recursion_is_exact_for_certain_choices(self):
        """Any mass, with p of 0 and 1, where a product would be 0."""
        p = DRAW.integers(0, 2, size=(50, 3, 9)).astype("float32")
        previous = DRAW.dirichlet(np.ones(9), size=(50, 3)).astype("float32")
        got = run(stop_recursively, 2000 * p - 1000, previous)
        np.testing.assert_allclose(got, paths(p, previous), atol=1e-6)

    @EVERY
    def test_a_certain_reader_is_followed_exactly(self, stop):
        """From one position to the next, with p of 0 and 1."""
        p = DRAW.integers(0, 2, size=(50, 3, 9)).astype("float32")
        previous = np.eye(9, dtype="float32")[DRAW.integers(0, 9, (50, 3))]
        got = run(stop, 2000 * p - 1000, previous)
        np.testing.assert_array_equal(got, paths(p, previous))

    @SOFT
    def test_certain_choices_have_finite_gradients(self, stop):
        p = DRAW.integers(0, 2, size=(2, 3, 6))
        found = gradients(
            lambda *x: ops.sum(ops.square(stop(*x))),
            [
                (2000.0 * p - 1000).astype("float32"),
                PREVIOUS.astype("float32"),
            ],
        )
        assert all(np.isfinite(x).all() for x in found)

    @pytest.mark.slow
    @SOFT
    def test_long_sources_stay_exact(self, stop):
        """300 positions, hardly passed: the start decides, not the end."""
        energies = np.full((1, 1, 300), 1.5, "float32")
        previous = np.zeros((1, 1, 300), "float32")
        previous[..., 200] = 1
        p = 1 / (1 + np.exp(-energies.astype("float64")))
        got = run(stop, energies, previous)
        np.testing.assert_allclose(got, paths(p, previous), atol=1e-6)


class TestStepwise:
    @pytest.mark.parametrize("step", [step_softly, step_hard])
    def test_does_not_stay_or_arrive_where_it_is_masked(self, step):
        """From position 1 on; of the mask, 1, 1, 0, 1, 1, 0 in one row."""
        start = np.broadcast_to(np.eye(6)[1], (2, 3, 6))
        never = np.full((2, 3, 6), -50.0)
        got = run(step, never, start, MASK)
        np.testing.assert_allclose(got[0], 0, atol=1e-20)
        np.testing.assert_allclose(got[1, 0], np.eye(6)[2], atol=1e-15)
        always = run(step, -never, np.eye(6)[np.full((2, 3), 2)], MASK)
        np.testing.assert_allclose(always[0, 0], np.eye(6)[3], atol=1e-15)
        np.testing.assert_allclose(always[1, 0], np.eye(6)[2], atol=1e-15)

    def test_hard_is_soft_where_it_is_certain(self):
        p = DRAW.integers(0, 2, size=(50, 3, 9))
        start = np.eye(9)[DRAW.integers(0, 9, (50, 3))]
        hard, soft = (
            run(step, 2000.0 * p - 1000, start)
            for step in (step_hard, step_softly)
        )
        np.testing.assert_array_equal(hard, soft)

    def test_hard_has_a_gradient_of_zero(self):
        for slope in gradients(
            lambda *x: ops.sum(step_hard(*x)), [ENERGIES, PREVIOUS]
        ):
            assert (slope == 0).all()
