"""Two devices of `keras.distribution`: the numbers of one device, on JAX."""

import contextlib

import keras
import numpy as np
import pytest
import samples
from replicas import data_parallel
from replicas import model_parallel
from seq2seqs import small_model

from keras_attention import AttentionCoverage
from keras_attention import AttentionEntropy
from keras_attention import CoverageAttention
from keras_attention import GreedySearch
from keras_attention import GuidedAlignmentLoss
from keras_attention import Perplexity
from keras_attention import SequenceCrossentropy
from keras_attention import TokenAccuracy

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="Keras distributes on JAX"
)
WORDS = 10  # a multiple of the devices


def make_batch():
    """Long texts for one device, short ones for the other."""
    draw = np.random.default_rng(0)
    source = draw.integers(4, WORDS, (4, 5)).astype("int32")
    target = draw.integers(4, WORDS, (4, 7)).astype("int32")
    target[2:, 2:], source[2:, 3:] = 0, 0
    links = draw.uniform(size=(4, 6, 5)) < 0.5
    links = links & (target[:, 1:, None] != 0) & (source[:, None] != 0)
    return (source, target[:, :-1]), (target[:, 1:], links.astype("float32"))


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
        keras.utils.set_random_seed(1)
        model = small_model(
            CoverageAttention(5, coverage_loss=1.0),
            return_attention_scores=True,
            source_vocabulary_size=WORDS,
            target_vocabulary_size=WORDS,
        )
        samples.randomize(model, seed=3, scale=0.3)
        model.compile(
            keras.optimizers.SGD(0.1),
            loss=[SequenceCrossentropy(0.1), GuidedAlignmentLoss()],
            metrics=[
                [TokenAccuracy(), Perplexity()],
                [AttentionEntropy(), AttentionCoverage()],
            ],
        )
        batch = make_batch()
        logs = [
            model.train_on_batch(*batch, return_dict=True) for _ in range(10)
        ]
        found = model.generate(batch[0][0], GreedySearch(max_length=4))
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
