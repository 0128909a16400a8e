"""chunks: the weight of each position, spread over those before it."""

import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.monotonic import spread_over_chunks

DRAW = np.random.default_rng(0)
ENDS = DRAW.random((2, 3, 6))
SCORES = DRAW.normal(size=(2, 3, 6)) * 2
MASK = np.array([[[1, 1, 0, 1, 1, 0]], [[0, 1, 1, 1, 0, 0]]], bool)


def run(ends, scores, size, mask=None):
    mask = None if mask is None else to_tensor(mask)
    given = (to_tensor(np.asarray(x)) for x in (ends, scores))
    return to_numpy(spread_over_chunks(*given, size, mask))


def one_by_one(ends, scores, size, mask):
    """The paper's double sum, one chunk after the other."""
    weights = np.zeros(ends.shape)
    for place in np.ndindex(ends.shape):
        k = place[-1]
        chunk = slice(max(k - size + 1, 0), k + 1)
        seen = mask[place[:-1]][chunk]
        row = scores[place[:-1]][chunk]
        powers = np.exp(row - row[seen].max(initial=-np.inf, where=True))
        powers = np.where(seen, powers, 0) if seen.any() else 0 * row
        total = powers.sum()
        share = powers / total if total else powers
        weights[place[:-1]][chunk] += ends[place] * share
    return weights


@pytest.mark.parametrize("size", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("mask", [None, MASK], ids=["", "masked"])
def test_sums_over_all_chunks(size, mask):
    seen = np.broadcast_to(True if mask is None else mask, ENDS.shape)
    got = run(ENDS, SCORES, size, mask)
    want = one_by_one(ENDS, SCORES, size, seen)
    np.testing.assert_allclose(got, want, atol=1e-14)
    assert (got[~seen] == 0).all()
    if mask is None:
        np.testing.assert_allclose(got.sum(-1), ENDS.sum(-1), atol=1e-13)


def test_large_scores_neither_overflow_nor_hide_others():
    """A chunk of small scores keeps its shares beside one of large scores."""
    scores = np.array([[[3e4, -3e4, 0.0, 1.0, 2.0, 1e30]]], "float32")
    ends = np.full((1, 1, 6), 1.0, "float32")
    want = one_by_one(ends, scores.astype("float64"), 2, np.ones((1, 1, 6)) > 0)
    np.testing.assert_allclose(run(ends, scores, 2), want, atol=1e-6)
    for slope in gradients(
        lambda *x: ops.sum(ops.square(spread_over_chunks(*x, 2))),
        [ends, scores],
    ):
        assert np.isfinite(slope).all()
