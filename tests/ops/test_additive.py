"""additive: what the tests of `BahdanauAttention` cannot know about it."""

import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops import additive_scores

B, TQ, TV, U = 2, 3, 5, 4


def arrays(batch=B, queries=TQ, words=TV, units=U):
    draw = np.random.default_rng(0).normal
    shapes = [(batch, queries, units), (batch, words, units), (units,)]
    return [draw(size=shape) for shape in shapes]


def reference(query, keys, vector):
    scores = np.zeros((*query.shape[:2], keys.shape[1]))
    for b, i, j in np.ndindex(scores.shape):
        scores[b, i, j] = vector @ np.tanh(query[b, i] + keys[b, j])
    return scores


def total(query, keys, vector):
    """A number that depends on every score, not on all of them alike."""
    return ops.sum(ops.square(1 + additive_scores(query, keys, vector)))


@pytest.mark.parametrize(
    "none", [{"batch": 0}, {"queries": 0}, {"words": 0}], ids=str
)
def test_nothing_gives_nothing(none):
    given = arrays(**none)
    out = to_numpy(additive_scores(*map(to_tensor, given)))
    assert out.shape == reference(*given).shape
    for g in gradients(total, given):
        assert (g == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_near_and_finite(dtype):
    given = arrays(units=64)
    query, keys, vector = (ops.cast(to_tensor(x), dtype) for x in given)
    out = to_numpy(additive_scores(query, keys, vector))
    tolerance = 2e-2 if dtype == "float16" else 2e-1
    np.testing.assert_allclose(out, reference(*given), atol=tolerance)
    loud = [3e4 * ops.sign(x) for x in (query, keys)]
    assert np.isfinite(to_numpy(additive_scores(*loud, vector))).all()


def test_gradient_where_tanh_is_flat():
    query, keys, vector = arrays()
    of_query, of_keys, of_vector = gradients(
        total, [1e4 * query, 1e4 * keys, vector]
    )
    np.testing.assert_allclose(of_query, 0, atol=1e-12)
    np.testing.assert_allclose(of_keys, 0, atol=1e-12)
    assert np.isfinite(of_vector).all()
