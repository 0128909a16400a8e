"""BeamAxis: to rows and to queries and back, with beams and without."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from samples import draw

from keras_attention.decoder.beams import BeamAxis

B, K, U = 2, 3, 4


def test_it_finds_the_axis():
    assert BeamAxis.of(to_tensor(draw(B, U))).count is None
    assert BeamAxis.of(to_tensor(draw(B, K, U))).count == K


@pytest.mark.parametrize(
    ("shape", "rows", "queries"),
    [((B, U), (B, U), (B, 1, U)), ((B, K, U), (B * K, U), (B, K, U))],
)
def test_there_and_back(shape, rows, queries):
    x = to_tensor(draw(*shape))
    axis = BeamAxis.of(x)
    assert tuple(axis.as_rows(x).shape) == rows
    assert tuple(axis.as_queries(x).shape) == queries
    for again in (
        axis.from_rows(axis.as_rows(x)),
        axis.from_queries(axis.as_queries(x)),
    ):
        np.testing.assert_array_equal(to_numpy(again), to_numpy(x))


def test_nothing_stays_nothing():
    assert BeamAxis(None).as_queries(None) is None
    assert BeamAxis(K).as_queries(None) is None


def test_beams_start_from_the_state_of_their_source():
    state = draw(B, U)
    shared = to_numpy(BeamAxis(K).spread(state))
    assert shared.shape == (B, K, U)
    for k in range(K):
        np.testing.assert_array_equal(shared[:, k], state)
    alone = to_numpy(BeamAxis(None).spread(state))
    np.testing.assert_array_equal(alone, state)
    beams = draw(B, K, U)
    np.testing.assert_array_equal(to_numpy(BeamAxis(K).spread(beams)), beams)
