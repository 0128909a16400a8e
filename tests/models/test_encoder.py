"""RecurrentEncoder: Keras' own layers, stacked by hand."""

import inspect
import json

import keras
import numpy as np
import pytest
import samples
from keras import layers
from samples import assert_close
from samples import draw
from samples import mask
from samples import to_numpy
from tiers import some

from keras_attention import LayerNormLSTMCell
from keras_attention import RecurrentEncoder

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
@pytest.mark.parametrize("depth", [1, 2])
def test_is_keras_own_layers(depth, bidirectional, cell):
    encoder = make(depth=depth, bidirectional=bidirectional, cell=cell)
    x = draw(3, 5, 3, dtype="float32")
    by_hand = stack(encoder, cell, bidirectional, depth)
    for given in (None, mask([5, 2, 1], 5)):
        got, want = encoder(x, mask=given), by_hand(x, given)
        keras.tree.assert_same_structure(got, want)
        assert_close(got, want, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("cell", some(KINDS, 1))
def test_residual_layers_add_what_comes_from_below(cell):
    encoder = make(depth=3, cell=cell, residual=True)
    x = draw(3, 5, 3, dtype="float32")
    by_hand = stack(encoder, cell, True, 3, residual=True)
    given = mask([5, 2, 1], 5)
    got, want = encoder(x, mask=given), by_hand(x, given)
    keras.tree.assert_same_structure(got, want)
    assert_close(got, want, 1e-6)
    plain = make(depth=3, cell=cell)
    assert np.abs(to_numpy(plain(x)[0]) - to_numpy(got[0])).max() > 0.1


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


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("depth", [1, 2])
def test_states_are_those_of_the_last_real_step(depth, cell):
    encoder = make(depth=depth, cell=cell)
    x, lengths = draw(3, 5, 3, dtype="float32"), [5, 2, 3]
    sequence, *states = encoder(x, mask=mask(lengths, 5))
    states = to_numpy(keras.tree.flatten(states))
    for row, length in enumerate(lengths):
        alone, *want = encoder(x[row : row + 1, :length])
        assert_close(sequence[row : row + 1, :length], alone, 1e-6)
        for got, one in zip(states, keras.tree.flatten(want), strict=True):
            np.testing.assert_allclose(got[row], to_numpy(one)[0], atol=1e-6)


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


@pytest.mark.parametrize("cell", KINDS)
def test_recurrent_dropout_is_one_mask_a_sequence(cell):
    """A step that sees nothing of the states is never changed."""
    encoder = make(cell=cell, recurrent_dropout=0.9, bidirectional=False)
    x = draw(3, 5, 3, dtype="float32")
    plain = to_numpy(encoder(x)[0])
    assert_close(encoder(x, training=False)[0], plain, 0)
    drawn = to_numpy(encoder(x, training=True)[0])
    np.testing.assert_allclose(drawn[:, 0], plain[:, 0], atol=1e-6)
    assert np.abs(drawn[:, 1:] - plain[:, 1:]).max() > 1e-3


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_dtype_policy(policy):
    encoder = RecurrentEncoder(4, depth=2, append_inputs=True, dtype=policy)
    for x in keras.tree.flatten(encoder(draw(2, 5, 3))):
        dtype = keras.backend.standardize_dtype(x.dtype)
        assert dtype == encoder.compute_dtype
    assert all(w.dtype == "float32" for w in encoder.weights)


def test_config_holds_every_argument():
    encoder = RecurrentEncoder(
        4,
        depth=2,
        cell="layer_norm_lstm",
        bidirectional=False,
        dropout=0.1,
        residual=True,
        recurrent_dropout=0.2,
        append_inputs=True,
    )
    config = json.loads(json.dumps(encoder.get_config()))
    parameters = inspect.signature(RecurrentEncoder).parameters
    assert set(parameters) - {"kwargs"} <= set(config)
    again = RecurrentEncoder.from_config(config)
    assert again.get_config() == encoder.get_config()


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
        ({"cell": "rnn"}, "`cell` must be one of"),
        ({"dropout": 1.0}, "`dropout`"),
        ({"recurrent_dropout": 1.0}, "`recurrent_dropout`"),
    ],
)
def test_refuses_wrong_arguments(wrong, word):
    with pytest.raises(ValueError, match=word):
        RecurrentEncoder(**{"units": 4, **wrong})
