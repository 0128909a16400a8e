"""Layers of an encoder, run by our loop: Keras' numbers and gradients."""

import keras
import numpy as np
import pytest
from differentiate import differentiate
from keras import layers
from keras import ops
from samples import assert_close
from samples import draw
from samples import mask
from samples import randomize
from samples import to_numpy

from keras_attention import LayerNormLSTMCell
from keras_attention import RecurrentEncoder
from keras_attention.models import encoder_loop
from keras_attention.models.encoder_loop import run_layer

B, T, D, U = 4, 5, 3, 4
OPTIONS = {"return_sequences": True, "return_state": True}
KINDS = {
    "lstm": layers.LSTM,
    "gru": layers.GRU,
    "layer_norm_lstm": lambda units, dtype, **kwargs: layers.RNN(
        LayerNormLSTMCell(units, dtype=dtype), dtype=dtype, **kwargs
    ),
}
# Elsewhere Keras' layers run: parts of them in float32, few in float16.
exact = pytest.mark.tensorflow
# All real, none, padding after, before and within the sequence.
MASK = np.array(
    [[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 1]]
).astype(bool)


@pytest.fixture(autouse=True)
def _ours(monkeypatch):
    """Choose our loop on every backend and device."""
    monkeypatch.setattr(encoder_loop, "fast_path", lambda *_: lambda: True)


def make(kind="lstm", both=True, dtype="float64", **options):
    layer = KINDS[kind](U, dtype=dtype, **OPTIONS, **options)
    layer = layers.Bidirectional(layer, dtype=dtype) if both else layer
    layer.build((None, None, D))
    randomize(layer)
    return layer


def ours(layer, x, given):
    return run_layer(layer, x, given, training=True)


def theirs(layer, x, given):
    return layer(x, mask=given, training=True)


def check_same(layer, given, way, tolerance=1e-10):
    """Compare outputs, states, and gradients of inputs and weights."""
    x, every = draw(B, T, D), layer.trainable_variables

    def number(run):
        def total(x):
            return sum(
                ops.sum(ops.square(k + 1 + y))
                for k, y in enumerate(run(layer, x, given))
            )

        return differentiate(total, [x], every, way)

    assert_close(ours(layer, x, given), theirs(layer, x, given), tolerance)
    (value, found), (expected, wanted) = number(ours), number(theirs)
    assert value == pytest.approx(expected, rel=tolerance)
    for got, want in zip(found, wanted, strict=True):
        assert np.abs(want).max() > 1e-3
        np.testing.assert_allclose(got, want, atol=tolerance, rtol=tolerance)


@exact
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "given"),
    [("lstm", None), ("gru", MASK), ("layer_norm_lstm", MASK)],
    ids=["lstm", "gru, masked", "layer_norm_lstm, masked"],
)
def test_numbers_and_gradients_are_those_of_keras(kind, given):
    check_same(make(kind), given, "graph")


@exact
def test_a_layer_in_one_direction_repeats_the_output_at_padding():
    for backwards in (False, True):
        layer = make("gru", both=False, go_backwards=backwards)
        x = draw(B, T, D)
        got, want = ours(layer, x, MASK), theirs(layer, x, MASK)
        want = [ops.flip(want[0], axis=1) if backwards else want[0], *want[1:]]
        assert_close(got, want, 1e-12)


@exact
@pytest.mark.slow
def test_it_trains_under_xla():
    check_same(make(), MASK, "xla")


@pytest.mark.parametrize("kind", KINDS)
def test_recurrent_dropout_draws_the_masks_of_keras(kind):
    if kind == "layer_norm_lstm":
        layer = layers.RNN(
            LayerNormLSTMCell(U, recurrent_dropout=0.5, seed=1), **OPTIONS
        )
    else:
        layer = KINDS[kind](U, recurrent_dropout=0.5, seed=1, **OPTIONS)
    layer.build((None, None, D))
    randomize(layer)
    x, found = draw(B, T, D, dtype="float32"), []
    seed = to_numpy(layer.cell.seed_generator.state.value)
    for run in (ours, theirs, ours):
        layer.cell.seed_generator.state.assign(seed)
        found.append(run(layer, x, MASK))
    assert_close(found[0], found[1], 1e-6)
    assert_close(found[2], found[1], 1e-6)
    again = ours(layer, x, MASK)
    assert np.abs(to_numpy(again[0]) - to_numpy(found[0][0])).max() > 1e-2


@pytest.mark.parametrize(
    "dtype", [pytest.param("float16", marks=exact), "mixed_float16"]
)
def test_keeps_dtypes(dtype):
    layer = make(dtype=dtype)
    x = draw(B, T, D, dtype="float32")
    got, want = ours(layer, x, MASK), theirs(layer, x, MASK)
    assert_close(got, want, 4e-3)
    assert {keras.backend.standardize_dtype(y.dtype) for y in got} == {
        "float16"
    }


@pytest.mark.slow
def test_it_is_for_training_where_it_is_faster(monkeypatch):
    said, real = [], encoder_loop.trainable_loop

    def loop(*arguments):
        said.append("ours")
        return real(*arguments)

    monkeypatch.setattr(encoder_loop, "trainable_loop", loop)
    encoder = RecurrentEncoder(U, depth=2)
    x = draw(B, T, D, dtype="float32")
    for training in (None, False):
        encoder(x, training=training)
    assert not said
    encoder(x, training=True)
    assert said == ["ours"] * 4
    for own in ({}, {"outruns_keras_layers": lambda: False}):  # or a GPU
        monkeypatch.setattr(encoder_loop, "fast_path", own.get)
        encoder(x, training=True)
    assert said == ["ours"] * 4


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("shape", "given", "word"),
    [
        ((B, T, D), MASK[:, 1:], "`mask`"),
        ((B, T, D), mask([5, 2], T), "`mask`"),
        ((B, D), None, r"shape \(B, T, D\)"),
    ],
)
def test_refuses_other_shapes(shape, given, word, training):
    with pytest.raises(ValueError, match=word):
        run_layer(make(), draw(*shape), given, training)
