"""TensorFlow: one graph for all shapes, with and without XLA."""

import gc
import weakref

import keras
import numpy as np
import pytest
from ready import GRAPH
from ready import make_ready
from seq2seqs import TARGET
from seq2seqs import WORDS
from tiers import some

import keras_attention as ka
from keras_attention.backend import PlainBackend
from keras_attention.backend import backend

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def test_it_knows_a_trace():
    said = []
    tf.function(lambda: said.append(backend.is_traced(None)))()
    assert said == [True]
    assert not backend.is_traced(None)


def test_layers_of_cudnn_are_not_outrun(monkeypatch):
    for devices in ([], ["GPU:0"]):
        monkeypatch.setattr(
            tf.config, "list_logical_devices", lambda _, found=devices: found
        )
        assert backend.outruns_keras_layers() == (not devices)


@pytest.mark.parametrize(
    ("columns", "dtype", "collide"),
    [
        (1536, "float32", True),
        (8000, "float32", False),
        (256, "float64", True),
        (512, "bfloat16", False),
    ],
)
def test_rows_collide_at_multiples_of_2048_bytes(
    columns, dtype, collide, monkeypatch
):
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: [])
    assert backend.rows_collide(columns, dtype) == collide
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: ["GPU:0"])
    assert not backend.rows_collide(columns, dtype)


def tripled(x, y):
    """Compute `2 x + y`, and say that its gradient by `x` is 3."""
    known = Layer()

    def gradient(dy):
        return known.factor * dy, dy

    tripled.known = weakref.ref(known)
    return 2 * x + y, gradient


class Layer:
    factor = 3


@pytest.mark.parametrize("eagerly", [False, True])
def test_a_gradient_is_freed_with_its_graph(eagerly):
    """TensorFlow's registry keeps neither the layer nor the graph."""
    graphs = []

    def function(x):
        if not eagerly:
            graphs.append(weakref.ref(tf.compat.v1.get_default_graph()))
        y, z = 1 * x, 1 * x
        with tf.GradientTape() as tape:
            tape.watch([x, y, z])
            found = backend.custom_gradient(tripled)(x, y) + z
        found = tape.gradient(found, [x, y, z])  # y and z: the same tensor
        gc.collect()
        assert tripled.known() is None or not eagerly
        return found

    run = function if eagerly else tf.function(function, autograph=False)
    for _ in range(2):
        found = run(tf.constant([1.0, 5.0]))
        np.testing.assert_array_equal(found, [[3, 3], [1, 1], [1, 1]])
    assert len(graphs) == (not eagerly)
    del run
    gc.collect()
    assert tripled.known() is None
    assert all(graph() is None for graph in graphs)


@pytest.mark.parametrize("one", [False, True])
def test_results_have_the_form_of_the_function(one):
    def function(x):
        return x if one else (x,), lambda dy: dy

    found = backend.custom_gradient(function)(tf.ones(2))
    assert tf.is_tensor(found) == one


def test_a_tape_may_be_outside_of_a_function_of_any_size():
    """Where sizes are unknown, a gradient is computed in a branch."""
    layer, values = ka.BahdanauAttention(3), tf.random.normal((2, 5, 4))
    unknown = tf.TensorSpec((None, None, 4))
    function = tf.function(layer, input_signature=[unknown, unknown])
    gradients = []
    for run in (layer, function):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(run(values[:, :3], values) ** 2)
        gradients.append(tape.gradient(loss, layer.trainable_variables))
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Twice(ka.LanguageModel):
    """Reads each text twice, so that each weight has two gradients."""

    def call(self, inputs, training=None):
        first, again = (super(Twice, self).call(inputs, training) for _ in "12")
        return first + again


def trained(optimizer, model_class):
    """Train a small model for three steps; return losses and all variables."""
    keras.utils.set_random_seed(0)
    model = model_class(WORDS, 3, keras.layers.SimpleRNNCell(2))
    model.compile(optimizer(), ka.SequenceCrossentropy(), **GRAPH)
    make_ready(model, TARGET)
    pair = TARGET[:, :-1], TARGET[:, 1:]
    losses = model.fit(*pair, batch_size=1, verbose=0, shuffle=False)
    variables = [*model.variables, *model.optimizer.variables]
    return losses.history["loss"], [x.numpy() for x in variables]


@pytest.mark.slow
@pytest.mark.parametrize("model_class", some([Twice, ka.LanguageModel], 1))
@pytest.mark.parametrize(
    "optimizer",
    some(
        [
            lambda: keras.optimizers.Adam(0.1, clipnorm=0.1, use_ema=True),
            lambda: keras.optimizers.Adam(loss_scale_factor=8.0),
            lambda: keras.optimizers.LossScaleOptimizer("adam"),
            lambda: keras.optimizers.Adafactor(),
            lambda: keras.optimizers.Lamb(weight_decay=0.1),
        ],
        2,
    ),
)
def test_steps_without_all_reduce_change_no_number(
    optimizer, model_class, monkeypatch
):
    losses, variables = trained(optimizer, model_class)
    plain = PlainBackend().without_all_reduce
    monkeypatch.setattr(backend, "without_all_reduce", plain)
    wanted, others = trained(optimizer, model_class)
    assert losses == wanted
    for x, y in zip(variables, others, strict=True):
        np.testing.assert_array_equal(x, y)
