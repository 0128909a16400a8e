"""monotonic: where a reader stops, and the chunks behind it."""

import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.monotonic import spread_over_chunks
from keras_attention.ops.monotonic import step_hard
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


def run(function, *arrays, **options):
    return to_numpy(function(*map(to_tensor, arrays), **options))


def paths(p, previous):
    """Sum over every start k and stop j: eq. 7 of the paper, unrolled."""
    weights = np.zeros(p.shape)
    for j in range(p.shape[-1]):
        for k in range(j + 1):
            passed = np.prod(1 - p[..., k:j], axis=-1)
            weights[..., j] += previous[..., k] * passed * p[..., j]
    return weights


class TestSoft:
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
    def test_hard_has_a_gradient_of_zero(self):
        for slope in gradients(
            lambda *x: ops.sum(step_hard(*x)), [ENERGIES, PREVIOUS]
        ):
            assert (slope == 0).all()


class TestChunks:
    def test_large_scores_neither_overflow_nor_hide_others(self):
        """A chunk of small scores keeps its shares beside one of large ones."""
        scores = np.array([[[3e4, -3e4, 0.0, 1.0, 2.0, 1e30]]], "float32")
        ends = np.ones((1, 1, 6), "float32")
        share = 1 / (1 + np.e)  # of the smaller one of 0 and 1, or 1 and 2
        want = [[[2, 0, 1 + share, 1, 1 - share, 1]]]
        found = run(spread_over_chunks, ends, scores, size=2)
        np.testing.assert_allclose(found, want, atol=1e-6)
        for slope in gradients(
            lambda *x: ops.sum(ops.square(spread_over_chunks(*x, 2))),
            [ends, scores],
        ):
            assert np.isfinite(slope).all()
