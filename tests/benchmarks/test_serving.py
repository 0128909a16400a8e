"""Serving: requests, and that what is measured finds the same words."""

import keras
import numpy as np
import pytest
from draws import serving_sources
from draws import serving_weights
from serving import QUICK
from sides.serving_requests import Requests
from works import END
from works import FitWork
from works import ServingWork

from keras_attention import BeamSearch

pytest.importorskip("torch", reason="benchmarks compare with torch")
from sides import fit_model
from sides import serving_torch

WORK = ServingWork()._replace(**QUICK)
SOURCES = serving_sources(WORK)


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 5])
def test_torch_finds_what_generate_finds(beams):
    work = WORK._replace(beams=beams)
    weights = serving_weights(work)
    arrays = {**weights, "sources": SOURCES}
    _, numbers = serving_torch.make(work._asdict(), arrays, "eager")
    model = fit_model.build(FitWork(*work[:3]), weights)
    search = BeamSearch(beams, max_length=work.steps)
    found = model.generate(Requests(SOURCES).ids(8), search)
    tokens, scores = map(keras.ops.convert_to_numpy, found[:2])
    np.testing.assert_array_equal(numbers()["tokens"], tokens[:, 0])
    np.testing.assert_allclose(numbers()["scores"], scores[:, 0], rtol=1e-5)
    assert (tokens > END).all()  # none of them ends
