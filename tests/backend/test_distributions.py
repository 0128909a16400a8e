"""Two devices of `keras.distribution`: the numbers of one device, on JAX."""

import contextlib

import keras
import numpy as np
import pytest
from replicas import data_parallel
from replicas import make_batch
from replicas import make_model
from replicas import model_parallel

from keras_attention import GreedySearch

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="Keras distributes on JAX"
)
WORDS = 10  # a multiple of the devices


def split_words():
    """Split what grows with the vocabulary."""
    return model_parallel(
        {
            ".*(source|target)_embedding/embeddings": ("model", None),
            ".*output_layer/kernel": (None, "model"),
            ".*output_layer/bias": ("model",),
        }
    )


def train(scope):
    """Train ten steps; return logs, weights, texts and the model."""
    with scope:
        model = make_model(
            contextlib.nullcontext(),
            source_vocabulary_size=WORDS,
            target_vocabulary_size=WORDS,
        )
        source, target, links = (x[:4] for x in make_batch(WORDS))
        batch = (source, target[:, :-1]), (target[:, 1:], links)
        logs = [
            model.train_on_batch(*batch, return_dict=True) for _ in range(10)
        ]
        found = model.generate(source, GreedySearch(max_length=4))
    weights = [keras.ops.convert_to_numpy(x) for x in model.weights]
    return logs, weights, np.asarray(found.tokens), model


@pytest.fixture(scope="module")
def one_device():
    return train(contextlib.nullcontext())


@pytest.mark.parametrize("distribution", [data_parallel, split_words])
def test_ten_steps_are_those_of_one_device(one_device, distribution):
    logs, weights, tokens, model = train(distribution().scope())
    for found, wanted in zip(logs, one_device[0], strict=True):
        assert found.keys() == wanted.keys()
        for name in found:
            assert found[name] == pytest.approx(wanted[name], rel=1e-6), name
    for found, wanted in zip(weights, one_device[1], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    np.testing.assert_array_equal(tokens, one_device[2])
    kernel = model.output_layer.kernel.value
    split = distribution is split_words
    shapes = {part.data.shape for part in kernel.addressable_shards}
    assert shapes == {(kernel.shape[0], WORDS // (1 + split))}
