"""sparse: sparsemax and 1.5-entmax, exact, and exact in their slopes."""

import numpy as np
import pytest
from gradients import check_gradients
from gradients import derivative
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.sparse import entmax15
from keras_attention.ops.sparse import sparsemax

BOTH = pytest.mark.parametrize("function", [sparsemax, entmax15])
SCORES = np.random.default_rng(0).normal(size=(6, 9)) * 2


def run(function, scores, mask=None):
    scores = to_tensor(np.asarray(scores))
    mask = None if mask is None else to_tensor(np.asarray(mask))
    return to_numpy(function(scores, mask))


class TestExact:
    @BOTH
    def test_sums_to_one_in_any_range(self, function):
        for factor in (0, 1e-9, 1, 1e4, 1e12):
            out = run(function, factor * SCORES)
            np.testing.assert_allclose(out.sum(-1), 1, atol=1e-12)

    @BOTH
    def test_a_constant_changes_nothing(self, function):
        out = run(function, SCORES + 1e6)
        np.testing.assert_allclose(out, run(function, SCORES), atol=1e-8)

    @BOTH
    def test_far_scores_are_exactly_zero(self, function):
        assert run(function, [[5.0, 2.9]]).tolist() == [[1.0, 0.0]]


class TestMask:
    @BOTH
    def test_nothing_real_nothing_given(self, function):
        mask = np.array([[False] * 9] + [[True] * 9] * 5)
        assert (run(function, SCORES, mask)[0] == 0).all()
        (slope,) = gradients(
            lambda x: ops.sum(ops.square(function(x, to_tensor(mask)))),
            [SCORES],
        )
        assert (slope[0] == 0).all()
        assert np.isfinite(slope).all()

    @BOTH
    def test_no_positions_at_all(self, function):
        assert run(function, np.zeros((2, 0))).shape == (2, 0)


class TestGradients:
    @pytest.mark.slow
    @BOTH
    def test_are_the_papers_jacobian(self, function):
        """diag(s) - s s' / sum s, with s = p^(2 - alpha) on the support."""
        power = 0 if function is sparsemax else 0.5
        for z in SCORES:
            p = run(function, z[None])[0]
            s = np.where(p > 0, p**power, 0)
            want = np.diag(s) - np.outer(s, s) / s.sum()

            for n in range(len(z)):
                (row,) = gradients(lambda x, n=n: function(x)[0, n], [z[None]])
                np.testing.assert_allclose(row[0], want[n], atol=1e-12)

    @BOTH
    def test_have_slopes_of_their_own(self, function):
        """The second derivative, as of a gradient penalty."""

        def slope(x):
            def total(x):
                return ops.sum(function(x) ** 3)

            return ops.sum(derivative(total, x) ** 2)

        check_gradients(slope, [SCORES / 2])
