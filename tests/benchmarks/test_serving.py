"""Serving: requests, and that what is measured finds the same words."""

import keras
import numpy as np
import pytest
from draws import serving_sources
from draws import serving_weights
from serving import QUICK
from sides.serving_requests import Requests
from sides.serving_requests import as_ids
from works import END
from works import FitWork
from works import ServingWork

from keras_attention import BeamSearch

pytest.importorskip("torch", reason="benchmarks compare with torch")
from sides import fit_model
from sides import serving_torch

WORK = ServingWork()._replace(**QUICK)
SOURCES = serving_sources(WORK)


def test_requests_go_on_from_the_first():
    requests = Requests(SOURCES)
    texts = [requests.texts(3) for _ in range(4)]
    assert [len(batch) for batch in texts] == [3] * 4
    assert texts[0][0] == texts[2][2]  # 8 sentences in batches of 3
    every = [text for batch in texts for text in batch]
    for row, text in zip(SOURCES, every, strict=False):
        np.testing.assert_array_equal(as_ids([text])[0], row[row > END])


def test_a_batch_is_as_long_as_its_longest_row():
    ids = Requests(SOURCES).ids(2)
    assert ids[:, -1].any()
    np.testing.assert_array_equal(ids, SOURCES[:2, : ids.shape[1]])


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
