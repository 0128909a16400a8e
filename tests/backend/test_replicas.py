"""Two replicas of a strategy: the numbers of one device on all rows."""

import contextlib
import functools

import keras
import numpy as np
import pytest
from replicas import all_metrics
from replicas import both_losses
from replicas import make_batch
from replicas import make_model
from replicas import two_replicas
from seq2seqs import small_model
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import AttentionPooling
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CoverageAttention
from keras_attention import GraphAttention
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention.layers import Embedding

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

ROWS, STEPS, WORDS = 5, 6, 9
SOURCE, TARGET, LINKS = make_batch(WORDS)
INPUTS, LABELS = (SOURCE, TARGET[:, :-1]), (TARGET[:, 1:], LINKS)


@pytest.fixture
def strategy():
    return two_replicas()


def halves(strategy, array, first=2):
    """Give the first rows to one replica, and the rest to the other."""
    parts = array[:first], array[first:]
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(parts[context.replica_id_in_sync_group])
    )


def make_both(strategy, **options):
    scopes = contextlib.nullcontext(), strategy.scope()
    return (make_model(scope, **options) for scope in scopes)


def assert_same_weights(one, two, tolerance=1e-6):
    for x, y in zip(one.weights, two.weights, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), atol=tolerance)


def assert_same(found, wanted, tolerance=1e-6):
    assert found.keys() == wanted.keys()
    for name in found:
        np.testing.assert_allclose(
            found[name], wanted[name], rtol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("first", [1, 2, 4, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_all_rows(strategy, first, weighted):
    """However the real tokens fall, also if one replica has no row."""
    draw = np.random.default_rng(1)
    logits = draw.normal(size=(ROWS, STEPS, WORDS)).astype("float32")
    weights = draw.uniform(size=LINKS.shape).astype("float32")
    each = draw.uniform(size=ROWS).astype("float32") if weighted else None
    for loss, labels, given in zip(
        both_losses(), LABELS, (logits, weights), strict=True
    ):
        x = tf.constant(given)
        with tf.GradientTape() as tape:
            tape.watch(x)
            wanted = loss(labels, x, each)
        slopes = tape.gradient(wanted, x)

        def step(labels, x, each, loss=loss):
            with tf.GradientTape() as tape:
                tape.watch(x)
                share = loss(labels, x, each)
            return share, tape.gradient(share, x)

        parts = [
            None if array is None else halves(strategy, array, first)
            for array in (labels, given, each)
        ]
        found, gradients = strategy.run(step, parts)
        for share in found.values:
            np.testing.assert_allclose(2 * share, wanted, rtol=1e-6)
        gradients = np.concatenate(gradients.values)
        np.testing.assert_allclose(gradients, slopes, atol=1e-7)


@pytest.mark.parametrize("first", [2, 5])
def test_metrics_are_those_of_all_rows(strategy, first):
    """In each replica, and after all batches."""
    draw = np.random.default_rng(2)
    logits = draw.normal(size=(ROWS, STEPS, WORDS)).astype("float32")
    weights = draw.uniform(size=LINKS.shape).astype("float32")
    with strategy.scope():
        mirrored = all_metrics()
    for own, shared, given in zip(
        all_metrics(), mirrored, (logits, weights), strict=True
    ):
        labels = LABELS[0]
        for one, two in zip(own, shared, strict=True):
            one.update_state(labels, given)

            def step(labels, given, two=two):
                two.update_state(labels, given)
                return two.result()

            parts = (
                halves(strategy, labels, first),
                halves(strategy, given, first),
            )
            for result in strategy.run(step, parts).values:
                np.testing.assert_allclose(result, one.result(), rtol=1e-6)
            np.testing.assert_allclose(two.result(), one.result(), rtol=1e-6)


def test_nothing_real_gives_no_nan(strategy):
    x = halves(strategy, np.ones((4, 2, 3), "float32"))
    y = halves(strategy, np.zeros((4, 2), "int32"))
    shares = strategy.run(SequenceCrossentropy(), (y, x)).values
    assert [float(share) for share in shares] == [0, 0]


@pytest.mark.slow
def test_coverage_needs_no_loss_of_this_package(strategy):
    """Nor a model: replicas meet in the layer itself."""
    models, logs = [], []
    for scope in (contextlib.nullcontext(), strategy.scope()):
        with scope:
            keras.utils.set_random_seed(0)
            ids = keras.Input((STEPS,), dtype="int32")
            words = keras.layers.Embedding(WORDS, 4, mask_zero=True)(ids)
            layers = [CoverageAttention(4, coverage_loss=c) for c in (1, 2)]
            found = layers[1](layers[0](words, words), words)
            model = keras.Model(ids, keras.layers.Dense(1)(found))
            model.compile("sgd", loss="mse", run_eagerly=True)
        logs.append(model.train_on_batch(INPUTS[1][:4], LINKS[:4, :, :1]))
        models.append(model)
    np.testing.assert_allclose(*logs, rtol=1e-6)
    assert_same_weights(*models)


@pytest.mark.thorough
def test_ten_steps_are_those_of_one_device(strategy):
    """In `fit`; of every second batch, one replica has no row."""
    one, two = make_both(strategy)
    data = tf.data.Dataset.from_tensor_slices((INPUTS, LABELS)).batch(4)
    options = {"epochs": 5, "verbose": 0, "shuffle": False}
    history = [model.fit(data, **options).history for model in (one, two)]
    assert_same(*history)
    assert_same_weights(one, two)
    assert_same(
        *[
            model.evaluate(data, return_dict=True, verbose=0)
            for model in (one, two)
        ]
    )


OPTIMIZERS = {
    kind.__name__: kind
    for kind in vars(keras.optimizers).values()
    if isinstance(kind, type) and issubclass(kind, keras.Optimizer)
}
USUAL = {"Adam", "Adafactor"}
USUAL |= {"Optimizer", "LossScaleOptimizer", "MultiOptimizer"}  # of others


def assert_optimizer_is_that_of_one_device(
    strategy, make, lora=False, **options
):
    """Compare what one step and ten change; both replicas have all words."""
    ids = np.random.default_rng(0).integers(1, WORDS, (4, 5))
    labels = np.roll(ids, 1)
    models = []
    for scope in (contextlib.nullcontext(), strategy.scope()):
        with scope:
            keras.utils.set_random_seed(0)
            words = Embedding(WORDS, 4)
            model = keras.Sequential(
                [keras.Input((5,)), words, keras.layers.Dense(WORDS)]
            )
            if lora:
                words.enable_lora(2)
            model.compile(make(), SequenceCrossentropy(), **options)
            model.optimizer.build(model.trainable_variables)
        models.append(model)
    for steps in (1, 9):
        for model in models:
            for _ in range(steps):
                model.train_on_batch(ids, labels)
        assert_same_weights(*models)
    for x, y in zip(*[x.optimizer.variables for x in models], strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), 1e-4, 1e-6, x.path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Adam", "Adafactor", *some(sorted(OPTIMIZERS.keys() - USUAL), 0)]
)
def test_optimizers_square_one_gradient_a_word(strategy, name):
    make = functools.partial(OPTIMIZERS[name], 0.01, use_ema=True)
    assert_optimizer_is_that_of_one_device(strategy, make)


@pytest.mark.slow
def test_adapted_words_have_one_gradient(strategy):
    make = functools.partial(keras.optimizers.Adam, 0.01)
    assert_optimizer_is_that_of_one_device(strategy, make, lora=True)


@pytest.mark.slow
def test_gradients_are_accumulated(strategy):
    """Eagerly: Keras' optimizers cannot do it in a graph."""
    make = functools.partial(
        keras.optimizers.Adam, 0.01, gradient_accumulation_steps=2
    )
    assert_optimizer_is_that_of_one_device(strategy, make, run_eagerly=True)


@pytest.mark.slow
def test_replicas_draw_their_own_noise(strategy):
    """From the same rows, in each layer that draws."""
    x = np.ones((4, 9, 4), "float32")
    edges = np.ones((4, 9, 9), bool)
    with strategy.scope():
        keras.utils.set_random_seed(0)
        attention = BahdanauAttention(4, dropout=0.5)
        pooling = AttentionPooling(4, dropout=0.5)
        graph = GraphAttention(4, dropout=0.5)
        encoder = RecurrentEncoder(4, dropout=0.5)
        cell = keras.layers.GRUCell(4, recurrent_dropout=0.5)
        decoder = AttentionDecoder(AttentionDecoderCell(cell, None))
        model = small_model(dropout=0.5)
        words = small_model(word_dropout=0.5)
        for layer in (encoder, decoder, attention, pooling, graph):
            layer.build(*[x.shape] * (1 + (layer in (attention, graph))))
    for run in (
        lambda: attention(x, x, training=True),
        lambda: pooling(x, training=True),
        lambda: graph(x, edges, training=True),
        lambda: encoder(x, training=True)[0],
        lambda: decoder(x, training=True),
        lambda: model(INPUTS, training=True),
        lambda: words(INPUTS, training=True),
    ):
        one, two = strategy.run(run).values
        assert np.abs(one - two).max() > 1e-3


@pytest.mark.slow
def test_a_model_runs_in_the_scope_outside_of_replicas(strategy):
    """Also as in training, whose loop has a gradient of its own."""
    found = []
    for scope in (strategy.scope(), contextlib.nullcontext()):
        with scope:
            keras.utils.set_random_seed(0)
            model = small_model()
            logits = model(INPUTS, training=True)
            loss = SequenceCrossentropy()(LABELS[0], logits)
            generated = model.generate(SOURCE, BeamSearch(2, max_length=4))
            found.append((logits, loss, generated.tokens, generated.scores))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
