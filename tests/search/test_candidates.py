"""candidates: the coverage that their scores count, and its extremes."""

import numpy as np
import pytest
from keras import ops

from keras_attention.search import coverage_scores


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

    def test_no_real_position_is_no_penalty(self):
        got = self.score(np.zeros((1, 2, 3)), np.zeros((1, 3), bool))
        assert got.tolist() == [[0.0, 0.0]]

    @pytest.mark.parametrize("length", [1, 4])
    def test_refuses_a_mask_of_another_length(self, length):
        mask = np.ones((2, length), bool)
        with pytest.raises(ValueError, match=r"here \(B, 3\)"):
            self.score(np.ones((2, 1, 3)), mask)
