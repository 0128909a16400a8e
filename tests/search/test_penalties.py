"""penalties: the two formulas, and their extremes."""

import numpy as np
import pytest
from keras import ops

from keras_attention.search import coverage_scores
from keras_attention.search import length_penalties


class TestLength:
    @pytest.mark.parametrize("power", [0.0, 0.6, 1.0, -0.5])
    def test_is_the_paper_s(self, power):
        penalties, limits = length_penalties(power, 7)
        for t in range(7):
            want = [((5 + n) / 6) ** power for n in range(t + 1, 8)]
            assert penalties[t] == want[0]
            assert limits[t] == max(want)

    def test_has_one_entry_more(self):
        """The loop asks once more, after the last token."""
        for x in length_penalties(0.6, 7):
            assert x.shape == (8,)
            assert x[7] == x[6] == 2**0.6


class TestCoverage:
    def score(self, coverage, mask=None, weight=1.0, dtype="float64"):
        coverage = ops.convert_to_tensor(coverage, dtype)
        return ops.convert_to_numpy(coverage_scores(coverage, mask, weight))

    def test_is_the_paper_s(self):
        draw = np.random.default_rng(0).random
        coverage, mask = 2 * draw((3, 4, 5)), draw((3, 5)) < 0.7
        got = self.score(coverage, mask, 0.3)
        for b, k in np.ndindex(3, 4):
            terms = [min(c, 1.0) for c in coverage[b, k][mask[b]]]
            want = 0.3 * np.sum(np.log(terms))
            np.testing.assert_allclose(got[b, k], want, rtol=1e-12)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
    def test_nothing_covered_is_finite(self, dtype):
        got = self.score(np.zeros((1, 1, 3)), dtype=dtype)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, 3 * np.log(1e-37), rtol=1e-6)

    def test_leaving_out_less_is_better(self):
        got = self.score([[[0, 0, 2], [0, 1e-30, 1], [0.1, 0.1, 0.8]]])
        assert (np.diff(got[0]) > 0).all()

    def test_no_real_position_is_no_penalty(self):
        got = self.score(np.zeros((1, 2, 3)), np.zeros((1, 3), bool))
        assert got.tolist() == [[0.0, 0.0]]

    @pytest.mark.parametrize("length", [1, 4])
    def test_refuses_a_mask_of_another_length(self, length):
        mask = np.ones((2, length), bool)
        with pytest.raises(ValueError, match="for weights of 3 positions"):
            self.score(np.ones((2, 1, 3)), mask)

    def test_all_covered_is_no_penalty(self):
        assert self.score([[[1.0, 5.0]]]).tolist() == [[0.0]]
