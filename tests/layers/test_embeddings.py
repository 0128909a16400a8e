"""Embeddings: the numbers of Keras' layers, and of a dense gradient."""

from unittest import mock

import keras
import numpy as np
import pytest
from hoisted import hoisting
from keras import ops
from samples import assert_close

from keras_attention.layers import Embedding
from keras_attention.layers import ReversibleEmbedding
from keras_attention.layers import embeddings

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

IDS = np.array([[3, 1, 3], [0, 3, 1]], "int32")


KINDS = {
    Embedding: keras.layers.Embedding,
    ReversibleEmbedding: keras.layers.ReversibleEmbedding,
}
both_kinds = pytest.mark.parametrize("kind", KINDS)


def layers(kind, dtype="float32"):
    """A layer of Keras and ours, with the same weights."""
    both = [kind(4, 2, dtype=dtype) for kind in (KINDS[kind], kind)]
    for layer in both:
        layer.build()
    both[1].set_weights(both[0].get_weights())
    return both


@both_kinds
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("ids", ["int32", "int64", "uint8"])
def test_embeds_as_keras(kind, dtype, training, ids):
    keras_layer, layer = layers(kind, dtype)
    ids = ops.convert_to_tensor(IDS.astype(ids))
    found, expected = layer(ids, training=training), keras_layer(ids)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(*map(ops.convert_to_numpy, (found, expected)))


def test_scores_as_keras():
    outputs = np.ones((3, 2), "float32")
    both = layers(ReversibleEmbedding)
    found = [layer(outputs, reverse=True) for layer in both]
    np.testing.assert_array_equal(*map(ops.convert_to_numpy, found))


@pytest.mark.parametrize(
    ("dtype", "given", "turns"),
    [
        ("float32", "float32", 1),
        ("mixed_float16", "float16", 1),
        ("float64", "float64", 1),
        ("float32", "float16", 0),  # left to Keras
    ],
)
def test_a_loop_turns_the_table_once(dtype, given, turns, monkeypatch):
    outputs = np.random.default_rng(0).normal(size=(3, 2))
    outputs = ops.convert_to_tensor(outputs, given)
    keras_layer, layer = layers(ReversibleEmbedding, dtype)
    turn = mock.Mock(side_effect=embeddings._transposed)
    monkeypatch.setattr(embeddings, "_transposed", turn)
    step = hoisting(lambda x: layer(x, reverse=True), layer.variables)
    wanted = keras_layer(outputs, reverse=True)
    for _ in range(3):
        found = step(outputs)
        # On torch, Keras computes float64 in float32.
        assert found.dtype == (outputs if turns else wanted).dtype
        assert_close(found, wanted, 1e-3 if "16" in given else 1e-6)
    assert turn.call_count == turns


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "float64"])
@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_a_search_embeds_as_keras(dtype, ids):
    keras_layer, layer = layers(ReversibleEmbedding, dtype)
    ids = ops.convert_to_tensor(IDS.astype(ids))
    found, wanted = layer.take_known(ids), keras_layer(ids)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(*map(ops.convert_to_numpy, (found, wanted)))


@pytest.mark.tensorflow
def test_a_search_does_not_look_for_negative_ids():
    _, layer = layers(ReversibleEmbedding)

    @tf.function(autograph=False)
    def embed(ids):
        step = hoisting(
            lambda x: embeddings.embed(layer, x, None, False), layer.variables
        )
        return step(ids)

    graph = embed.get_concrete_function(ops.convert_to_tensor(IDS)).graph
    kinds = [operation.type for operation in graph.get_operations()]
    assert "GatherV2" in kinds
    assert "SelectV2" not in kinds


@both_kinds
def test_shapes_are_known_before_weights(kind):
    found = kind(4, 2)(keras.KerasTensor((None, 7), "int32"), training=True)
    assert found.shape == (None, 7, 2)
    if kind is ReversibleEmbedding:
        assert kind(4, 2)(found, reverse=True).shape == (None, 7, 4)


def train(kind, jit_compile=False, calls=1, **options):
    """One step of Adam on a sum; all gradients are the counts of words."""
    layer = layers(kind)[1]
    before = layer.get_weights()[0]
    ids = keras.Input((3,), dtype="int32")
    found = sum(layer(ids) for _ in range(calls))
    model = keras.Model(ids, found)
    adam = keras.optimizers.Adam(0.1, epsilon=1e-3, **options)

    def loss(y_true, y_pred):
        return ops.sum(y_pred, axis=(1, 2)) * 2  # two rows: a mean of one half

    model.compile(adam, loss, jit_compile=jit_compile)
    model.fit(IDS, np.zeros(2), batch_size=2, verbose=0)
    return before - layer.get_weights()[0], model.optimizer


COUNTS = np.array([[1, 1], [2, 2], [0, 0], [3, 3.0]])


@pytest.mark.slow
@both_kinds
@pytest.mark.parametrize(
    ("jit_compile", "calls"), [(False, 1), (True, 1), (False, 2)]
)
def test_adam_sees_one_gradient_a_word(kind, jit_compile, calls):
    if jit_compile and keras.backend.backend() == "torch":
        jit_compile = False  # its compiler is slow, and needs one of C++
    change, _ = train(kind, jit_compile, calls)
    root, slopes = np.sqrt(1 - 0.999), calls * COUNTS
    expected = 0.1 * root * slopes / (root * slopes + 1e-3)
    np.testing.assert_allclose(change, expected, rtol=1e-4)


@both_kinds
def test_a_norm_is_that_of_the_sums(kind):
    _, adam = train(kind, global_clipnorm=1.0)
    momentum = next(x for x in adam.variables if "momentum" in x.path)
    expected = 0.1 * COUNTS / np.sqrt((COUNTS**2).sum())
    found = ops.convert_to_numpy(momentum.value)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
