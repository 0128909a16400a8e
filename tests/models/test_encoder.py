"""RecurrentEncoder: Keras' own layers, stacked by hand or run by our loop."""

import keras
import numpy as np
import pytest
import samples
from gradients import differentiate
from keras import layers
from keras import ops
from samples import assert_close
from samples import draw
from samples import mask
from samples import to_numpy

from keras_attention import LayerNormLSTMCell
from keras_attention import RecurrentEncoder
from keras_attention.backend import PlainBackend
from keras_attention.models import encoder as encoders

OPTIONS = {"return_sequences": True, "return_state": True}
KINDS = {
    "lstm": layers.LSTM,
    "gru": layers.GRU,
    "layer_norm_lstm": lambda units, **kwargs: layers.RNN(
        LayerNormLSTMCell(units), **kwargs
    ),
}


def make(**kwargs):
    encoder = RecurrentEncoder(4, **kwargs)
    encoder.build((None, None, 3))
    samples.randomize(encoder)
    return encoder


def stack(encoder, cell, bidirectional, depth, residual=False):
    """Keras' layers with the encoder's weights, called one by one."""
    kind = KINDS[cell]
    made, size = [], 3
    for _ in range(depth):
        layer = kind(4, **OPTIONS)
        layer = layers.Bidirectional(layer) if bidirectional else layer
        layer.build((None, None, size))
        made.append(layer)
        size = 8 if bidirectional else 4
    weights = [to_numpy(w.value) for w in encoder.weights]
    for layer in made:
        count = len(layer.weights)
        layer.set_weights(weights[:count])
        weights = weights[count:]
    assert not weights

    def run(x, mask):
        states = []
        for i, layer in enumerate(made):
            below = x
            x, *own = layer(x, mask=mask)
            states.append(own)
            if residual and i > 0:
                x = below + x
        return (x, *(states[0] if depth == 1 else states))

    return run


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("depth", "residual"), [(1, False), (3, True)])
def test_is_keras_own_layers(depth, residual, bidirectional, cell):
    """A residual layer adds what comes from below."""
    options = {"depth": depth, "bidirectional": bidirectional, "cell": cell}
    encoder = make(**options, residual=residual)
    x = draw(3, 5, 3, dtype="float32")
    by_hand = stack(encoder, cell, bidirectional, depth, residual)
    for given in (None, mask([5, 2, 1], 5)):
        got, want = encoder(x, mask=given), by_hand(x, given)
        keras.tree.assert_same_structure(got, want)
        assert_close(got, want, 1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_appends_its_inputs_to_its_outputs(depth):
    """As they come in: not those of the upper layers, and not dropped."""
    options = {"depth": depth, "cell": "gru", "dropout": 0.5}
    x = draw(3, 5, 3, dtype="float32")
    given = mask([5, 2, 1], 5)
    plain, *states = make(**options)(x, mask=given)
    encoder = make(**options, append_inputs=True)
    found, *own = encoder(x, mask=given)
    assert_close(found, np.concatenate([to_numpy(plain), x], axis=-1), 1e-6)
    assert_close(own, states, 1e-6)
    shape, *_ = encoder.compute_output_shape((3, 5, 3))
    assert tuple(shape) == tuple(found.shape)
    drawn = to_numpy(encoder(x, mask=given, training=True)[0])
    np.testing.assert_array_equal(drawn[..., 8:], x)


def test_uses_and_carries_the_mask_of_an_embedding():
    ids = np.array([[4, 5, 0], [6, 0, 0]])
    embedding = layers.Embedding(10, 3, mask_zero=True)
    encoder = make(depth=2)
    sequence, *states = encoder(embedding(ids))
    np.testing.assert_array_equal(to_numpy(sequence._keras_mask), ids != 0)
    plain = to_numpy(embedding(ids))
    assert_close((sequence, *states), encoder(plain, mask=ids != 0), 1e-6)


@pytest.mark.parametrize("cell", KINDS)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_symbolic_shapes(depth, bidirectional, cell):
    encoder = make(depth=depth, bidirectional=bidirectional, cell=cell)
    symbolic = encoder(keras.Input((None, 3)))
    real = encoder(draw(2, 5, 3, dtype="float32"))
    keras.tree.assert_same_structure(symbolic, real)
    for x, y in zip(
        keras.tree.flatten(symbolic), keras.tree.flatten(real), strict=True
    ):
        shape = (None, *y.shape[1:])
        assert x.shape == ((None, None, y.shape[-1]) if x.ndim == 3 else shape)


def test_dropout_is_of_training_alone():
    encoder = make(depth=2, dropout=0.5)
    x = draw(3, 5, 3, dtype="float32")
    plain = to_numpy(encoder(x)[0])
    assert_close(encoder(x, training=False)[0], plain, 0)
    first, second = (to_numpy(encoder(x, training=True)[0]) for _ in range(2))
    assert not np.allclose(first, plain)
    assert not np.allclose(first, second)
    assert first.shape == plain.shape


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_dtype_policy(policy):
    encoder = RecurrentEncoder(4, depth=2, append_inputs=True, dtype=policy)
    for x in keras.tree.flatten(encoder(draw(2, 5, 3))):
        dtype = keras.backend.standardize_dtype(x.dtype)
        assert dtype == encoder.compute_dtype
    assert all(w.dtype == "float32" for w in encoder.weights)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("size", [2, 4])
def test_refuses_inputs_of_another_size(training, size):
    encoder = RecurrentEncoder(4)
    encoder.build((None, None, 3))
    message = rf"`sequence` with the 3 features .*shape=\(2, 5, {size}\)"
    with pytest.raises(ValueError, match=message):
        encoder(np.ones((2, 5, size)), training=training)
    with pytest.raises(ValueError, match=message):
        encoder(keras.KerasTensor((2, 5, size)))


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"units": 0}, "`units`"),
        ({"depth": 0}, "`depth`"),
        ({"depth": 10**9}, "`depth`.*at most 1000"),
        ({"cell": "rnn"}, "`cell` must be one of"),
        ({"dropout": 1.0}, "`dropout`"),
        ({"recurrent_dropout": 1.0}, "`recurrent_dropout`"),
    ],
)
def test_refuses_wrong_arguments(wrong, word):
    with pytest.raises(ValueError, match=word):
        RecurrentEncoder(**{"units": 4, **wrong})


# In training, our loop where it is faster: Keras' numbers and gradients.

# Elsewhere Keras' layers run: parts of them in float32, few in float16.
exact = pytest.mark.tensorflow
# All real, none, padding after, before and within the sequence.
MASK = np.array(
    [[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 1]]
).astype(bool)


def only_loops(is_faster=True):
    """A backend that has no kernel for sequences."""
    plain = PlainBackend()
    plain.outruns_keras_layers = lambda: is_faster
    return plain


@pytest.fixture
def _outruns(monkeypatch):
    """Choose our loop on every backend and device."""
    monkeypatch.setattr(encoders, "backend", only_loops())


def ours(encoder, x, given):
    return encoder(x, mask=given, training=True)


def theirs(encoder, x, given):
    return encoder.layers[0](x, mask=given, training=True)


def check_same(encoder, given, way, tolerance=1e-10):
    """Compare outputs, states, and gradients of inputs and weights."""
    x, every = draw(4, 5, 3), encoder.trainable_variables

    def number(run):
        def total(x):
            return sum(
                ops.sum(ops.square(k + 1 + y))
                for k, y in enumerate(run(encoder, x, given))
            )

        return differentiate(total, [x], every, way)

    assert_close(ours(encoder, x, given), theirs(encoder, x, given), tolerance)
    (value, got), (expected, wanted) = number(ours), number(theirs)
    assert value == pytest.approx(expected, rel=tolerance)
    for gradient, want in zip(got, wanted, strict=True):
        assert np.abs(want).max() > 1e-3
        np.testing.assert_allclose(
            gradient, want, atol=tolerance, rtol=tolerance
        )


@exact
@pytest.mark.slow
@pytest.mark.usefixtures("_outruns")
@pytest.mark.parametrize(
    ("cell", "given", "way"),
    [
        ("lstm", None, "graph"),
        ("gru", MASK, "graph"),
        ("layer_norm_lstm", MASK, "graph"),
        ("lstm", MASK, "xla"),
    ],
)
def test_numbers_and_gradients_are_those_of_keras(cell, given, way):
    check_same(make(cell=cell, dtype="float64"), given, way)


@exact
@pytest.mark.usefixtures("_outruns")
def test_one_direction_repeats_the_output_at_padding():
    encoder = make(cell="gru", bidirectional=False, dtype="float64")
    x = draw(4, 5, 3)
    assert_close(ours(encoder, x, MASK), theirs(encoder, x, MASK), 1e-12)


@pytest.mark.usefixtures("_outruns")
@pytest.mark.parametrize("cell", KINDS)
def test_recurrent_dropout_draws_the_masks_of_keras(cell):
    encoder = make(cell=cell, recurrent_dropout=0.5, bidirectional=False)
    generator = encoder.layers[0].cell.seed_generator.state
    x, found = draw(4, 5, 3, dtype="float32"), []
    seed = to_numpy(generator.value)
    for run in (ours, theirs, ours):
        generator.assign(seed)
        keras.utils.set_random_seed(1)  # torch drops by a seed of its own
        found.append(run(encoder, x, MASK))
    assert_close(found[0], found[1], 1e-6)
    assert_close(found[2], found[1], 1e-6)
    again = ours(encoder, x, MASK)
    assert np.abs(to_numpy(again[0]) - to_numpy(found[0][0])).max() > 1e-2


@pytest.mark.usefixtures("_outruns")
@pytest.mark.parametrize(
    "dtype", [pytest.param("float16", marks=exact), "mixed_float16"]
)
def test_our_loop_keeps_dtypes(dtype):
    encoder = make(dtype=dtype)
    x = draw(4, 5, 3, dtype="float32")
    got, want = ours(encoder, x, MASK), theirs(encoder, x, MASK)
    assert_close(got, want, 4e-3)
    assert {keras.backend.standardize_dtype(y.dtype) for y in got} == {
        "float16"
    }


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_whole_sequences_are_read_as_by_our_loop(
    cell, bidirectional, monkeypatch
):
    """A backend may have a kernel for them, which reads real positions."""
    encoder = make(cell=cell, bidirectional=bidirectional, dtype="float64")
    for given in (None, mask([2, 5, 0, 1], 5), mask([3, 0, 1, 2], 5), MASK):

        def total(x, given=given):
            outputs = ours(encoder, x, given)
            return sum(ops.sum((k + 1 + y) ** 2) for k, y in enumerate(outputs))

        def run(total=total, given=given):
            x = draw(4, 5, 3)
            _, numbers = differentiate(total, [x], encoder.trainable_variables)
            return [*numbers, *ours(encoder, x, given)]

        found = run()
        with monkeypatch.context() as patch:
            patch.setattr(encoders, "backend", only_loops())
            assert_close(found, run())


@pytest.mark.slow
def test_our_loop_is_for_training_where_it_is_faster(monkeypatch):
    calls, real = [], encoders.run_cells

    def run_cells(*arguments):
        calls.append("ours")
        return real(*arguments)

    monkeypatch.setattr(encoders, "run_cells", run_cells)
    encoder = make(depth=2)
    x = draw(4, 5, 3, dtype="float32")
    for is_faster, training, count in [
        (True, None, 0),
        (True, False, 0),
        (True, True, 4),
        (False, True, 4),  # a GPU
    ]:
        monkeypatch.setattr(encoders, "backend", only_loops(is_faster))
        encoder(x, training=training)
        assert len(calls) == count


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("shape", "given", "word"),
    [
        ((4, 5, 3), MASK[:, 1:], "`mask`"),
        ((4, 5, 3), mask([5, 2], 5), "`mask`"),
        ((4, 3), None, r"shape \(B, T, D\)"),
    ],
)
def test_refuses_other_shapes(shape, given, word, training):
    with pytest.raises(ValueError, match=word):
        make()(draw(*shape), mask=given, training=training)
