"""The sides of benchmarks, in small: all compute the same numbers."""

import keras
import numpy as np
import pytest
from draws import attention_arrays
from draws import crossentropy_arrays
from draws import decoder_arrays
from draws import encoder_arrays
from draws import fit_weights
from draws import search_arrays
from gpu import QUICK
from gpu import made_up_batches
from process import compare
from tiers import some
from works import AttentionWork
from works import CrossentropyWork
from works import DecoderWork
from works import EncoderWork
from works import FitWork
from works import SearchWork

pytest.importorskip("torch", reason="benchmarks compare with torch")
pytest.importorskip("jax", reason="benchmarks compare with JAX")
from sides import crossentropy_torch
from sides import decoder_jax
from sides import decoder_torch
from sides import encoder_torch
from sides import fit_torch
from sides import search_ours
from sides import search_torch

BACKEND = keras.backend.backend()
if BACKEND == "tensorflow":
    from sides import attention_layer
    from sides import crossentropy
    from sides import decoder_ours
    from sides import encoder_layer
    from sides import fit_ours
elif BACKEND == "jax":
    from sides import decoder_ours_jax as decoder_ours
    from sides import fit_ours_jax as fit_ours
else:
    from sides import decoder_ours_torch as decoder_ours
    from sides import encoder_ours_torch as encoder_layer

DECODER = DecoderWork(steps=4, **QUICK)
SEARCH = SearchWork(vocabulary=30, steps=4, **QUICK)


class Side:
    """Stands in for `process.Process`: the same module, in this process."""

    def __init__(self, module, work, arrays, mode="default"):
        self.name = module.__name__
        self.run, self._numbers = module.make(work._asdict(), arrays, mode)

    def numbers(self):
        return {name: np.asarray(x) for name, x in self._numbers().items()}


@pytest.mark.slow
@pytest.mark.parametrize("peer", [decoder_torch, decoder_jax])
def test_decoder_steps_agree(peer):
    arrays = decoder_arrays(DECODER)
    own, other = (Side(x, DECODER, arrays) for x in (decoder_ours, peer))
    assert compare(own, other, 1e-5).keys() == {
        "outputs",
        *arrays.keys() - {"cotangent"},
    }


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "variant",
    some([{"score": "general", "layer": 7}, {"cell": "gru"}, {"depth": 2}], 1),
)
def test_variants_have_a_gradient_for_each_weight(variant):
    work = DECODER._replace(order="luong", output="attention", **variant)
    arrays = decoder_arrays(work)
    found = Side(decoder_ours, work, arrays).numbers()
    assert found.pop("outputs").shape == arrays.pop("cotangent").shape
    assert {k: v.shape for k, v in found.items()} == {
        k: v.shape for k, v in arrays.items()
    }


@pytest.mark.tensorflow
def test_additive_layers_agree():
    work = AttentionWork("ours", batch=2, queries=3, words=4, units=5)
    arrays = attention_arrays(work)
    sides = [
        Side(attention_layer, work._replace(layer=layer), arrays)
        for layer in ("ours", "keras")
    ]
    names = {"outputs", "query", "key", "value", "score_vector"}
    assert compare(*sides, 1e-5).keys() == names


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "jax", reason="no side runs an encoder there")
def test_encoders_agree():
    work = EncoderWork(batch=2, words=3, size=4, units=5)
    arrays = encoder_arrays(work)
    own, of_keras, of_torch = sides = [
        Side(encoder_layer, work, arrays),
        Side(encoder_layer, work._replace(layer="keras"), arrays),
        Side(encoder_torch, work, arrays),
    ]
    for other in (of_keras, of_torch):
        found = compare(own, other, 1e-5)
        assert found.keys() == {"outputs", *arrays.keys() - {"cotangent"}}
    work = work._replace(gradient=False)
    forward = [
        Side(encoder_layer, work, arrays),
        Side(encoder_torch, work, arrays),
    ]
    for side in forward:
        assert compare(side, sides[0], {"outputs": 1e-5})


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_crossentropies_agree(smoothing):
    work = CrossentropyWork("ours", 2, 3, 4, 9, smoothing)
    arrays = crossentropy_arrays(work)
    own = Side(crossentropy, work, arrays)
    peers = [
        Side(crossentropy, work._replace(loss="formula"), arrays, "xla"),
        Side(crossentropy_torch, work, arrays, "eager"),
    ]
    if not smoothing:
        peers.append(Side(crossentropy, work._replace(loss="keras"), arrays))
    for peer in peers:
        assert compare(own, peer, 1e-5).keys() == {"loss", "outputs", "kernel"}


@pytest.mark.slow
def test_searches_agree():
    arrays = search_arrays(SEARCH)
    own, other = (Side(x, SEARCH, arrays) for x in (search_ours, search_torch))
    compare(own, other, {"scores": 1e-5, "tokens": 0})
    tokens = own.numbers()["tokens"]
    assert tokens.shape == (SEARCH.batch, SEARCH.steps)  # all were taken
    assert (tokens > 3).all()


@pytest.mark.thorough
@pytest.mark.skipif(BACKEND == "torch", reason="`fit` is not measured there")
def test_models_lose_the_same():
    work = FitWork(30, 6, 4)
    batches = made_up_batches(work.vocabulary, 5, 4, 6)
    arrays = {**fit_weights(work), **batches}
    own, other = (Side(x, work, arrays) for x in (fit_ours, fit_torch))
    compare(own, other, 1e-5)
    first, *_, last = (own.run() for _ in range(4))
    assert last < first
