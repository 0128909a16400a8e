"""candidates: the likeliest tokens of every hypothesis, and their scores."""

import numpy as np
from keras import ops

from keras_attention.search import Beams
from keras_attention.search import BeamSearch
from keras_attention.search import extend_beams

LOG_PROBS = np.log([[[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]])
WEIGHTS = np.array([[[0.25, 0.75], [0.5, 0.5]]])


def beams(alive=(True, True), **others):
    """Two hypotheses of two tokens, of which some have ended."""
    return Beams(
        position=ops.convert_to_tensor(2, "int32"),
        words=ops.zeros((1, 2), "int32"),
        alive=ops.convert_to_tensor([alive]),
        sums=ops.convert_to_tensor([[-1.0, -2.0]], "float64"),
        scores=ops.convert_to_tensor([[-7.0, -9.0]], "float64"),
        lengths=ops.full((1, 2), 2, "int32"),
        state=(),
        tokens=ops.convert_to_tensor([[[0, 1, 0], [2, 1, 0]]], "int32"),
        **others,
    )


def extend(so_far, size=2, weights=None, options=None, **arguments):
    search = BeamSearch(size, max_length=3, **(options or {}))
    found = ops.convert_to_tensor(LOG_PROBS), (), weights
    candidates = extend_beams(search, so_far, found, **arguments)
    return [None if x is None else ops.convert_to_numpy(x) for x in candidates]


def test_are_the_likeliest_of_each():
    ids, sums, scores, coverage = extend(beams())
    assert ids.tolist() == [[[3, 2], [0, 1]]]
    want = [np.log([0.4, 0.3]) - 1, np.log([0.4, 0.3]) - 2]
    np.testing.assert_allclose(sums[0], want, rtol=1e-12)
    np.testing.assert_array_equal(scores, sums)
    assert coverage is None


def test_are_no_more_than_there_are_classes():
    search = BeamSearch(7, max_length=3)
    found = ops.convert_to_tensor(LOG_PROBS), (), None
    assert extend_beams(search, beams(), found).ids.shape[-1] == 4


def test_what_has_ended_is_its_own_candidate():
    """With the score that it had, whatever the penalty is now."""
    _, sums, scores, _ = extend(beams((False, True)), length_penalty=1.0)
    assert sums[0, 0].tolist() == [-1.0, -np.inf]
    assert scores[0, 0].tolist() == [-7.0, -np.inf]
    np.testing.assert_allclose(scores[0, 1], sums[0, 1] / (8 / 6), rtol=1e-12)


def test_limits_and_prefixes_hold():
    ids, *_ = extend(beams(), options={"forbidden_ids": [3, 0]})
    assert ids.tolist() == [[[2, 1], [1, 2]]]
    prefix = ops.convert_to_tensor([[0, 0, 1]], "int32")
    ids, _, scores, _ = extend(beams(), prefix=prefix)
    assert ids[0, :, 0].tolist() == [1, 1]
    assert scores[0, :, 1].tolist() == [-np.inf, -np.inf]


def test_coverage_adds_up_over_real_positions():
    weights = ops.convert_to_tensor(WEIGHTS)
    before = ops.convert_to_tensor([[[0.25, 0.5], [0.1, 0.4]]], "float64")
    mask = ops.convert_to_tensor([[True, False]])
    _, sums, scores, coverage = extend(
        beams(coverage=before),
        weights=weights,
        memory_mask=mask,
        coverage_penalty=0.3,
    )
    want = np.array([[0.5, 1.25], [0.6, 0.9]])
    np.testing.assert_allclose(coverage[0], want, rtol=1e-12)
    terms = 0.3 * np.log(want[:, :1])
    np.testing.assert_allclose(scores[0], sums[0] + terms, rtol=1e-12)
