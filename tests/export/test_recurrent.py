"""exportable_recurrence: the numbers of Keras, in our loop."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from tiers import some

from keras_attention import LayerNormLSTMCell
from keras_attention import RecurrentEncoder
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.export.recurrent import exportable_steps

B, T, D, U = 3, 5, 4, 6
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0]], bool)


@keras.saving.register_keras_serializable("test_recurrent")
class SumCell(layers.Layer):
    """A cell with one state, and an output of another size."""

    state_size, output_size = U, 2

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], U))

    def call(self, x, states):
        state = states[0] + keras.ops.matmul(x, self.kernel)
        return state[:, :2], [state]


def stack(**options):
    cells = [layers.LSTMCell(U), layers.GRUCell(U), SumCell()]
    return layers.RNN(cells, **options)


KINDS = {
    "LSTM": lambda **o: layers.LSTM(U, dropout=0.5, **o),
    "GRU": lambda **o: layers.GRU(U, **o),
    "GRU of Cho": lambda **o: layers.GRU(U, reset_after=False, **o),
    "SimpleRNN": lambda **o: layers.SimpleRNN(U, dropout=0.5, **o),
    "layer norm": lambda **o: layers.RNN(
        LayerNormLSTMCell(U, dropout=0.5, recurrent_dropout=0.5), **o
    ),
    "own cell": lambda **o: layers.RNN(SumCell(), **o),
    "stack": stack,
    "zeros at padding": lambda **o: layers.RNN(
        layers.LSTMCell(U), zero_output_for_mask=True, **o
    ),
}
MERGES = ["concat", "sum", "ave", "mul", None]
BOTH = [("LSTM", merge) for merge in MERGES]
BOTH += [(kind, "concat") for kind in ("GRU", "own cell", "stack")]


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


REAL = draw(B, T, D) > 0


def check_same(layer, mask=None, context=exportable_recurrence, **options):
    keras.utils.set_random_seed(1)  # a normalized vector may be tiny
    x = draw(B, T, D)
    wanted = keras.tree.flatten(layer(x, mask=mask, **options))
    with context(layer):
        given = keras.tree.flatten(layer(x, mask=mask, **options))
    for x, y in zip(wanted, given, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)


def operations(layer):
    """Name what one trace of a layer holds."""

    def run(x):
        return layer(x)

    spec = tf.TensorSpec((None, None, D), tf.float32)
    traced = tf.function(run, [spec], autograph=False).get_concrete_function()
    graph = traced.graph.as_graph_def()
    parts = [graph.node, *(f.node_def for f in graph.library.function)]
    return {node.op for part in parts for node in part}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", some([MASK, None], 1), ids=["mask", "no mask"])
def test_gives_what_keras_gives(kind, mask):
    settings = itertools.product([True, False], repeat=2)
    for sequences, backwards in settings:
        layer = KINDS[kind](
            return_sequences=sequences,
            return_state=True,
            go_backwards=backwards,
        )
        check_same(layer, mask)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "merge"), BOTH)
def test_both_directions_give_what_keras_gives(kind, merge):
    for sequences in (True, False):
        layer = KINDS[kind](return_sequences=sequences, return_state=True)
        layer = layers.Bidirectional(layer, merge_mode=merge)
        check_same(layer, MASK)
    check_same(layer)


def test_without_states_and_with_initial_ones():
    check_same(layers.GRU(U), MASK)
    states = [draw(B, U), -draw(B, U)]
    check_same(layers.LSTM(U, return_state=True), initial_state=states)


def test_layers_of_steps_get_their_masks():
    for layer, mask in ((layers.Dense(U), MASK), (layers.Softmax(), REAL)):
        each = layers.TimeDistributed(layer)
        check_same(each, mask, context=exportable_steps)


def test_unrolled_layers_and_our_encoder():
    check_same(layers.LSTM(U, unroll=True, return_sequences=True), MASK)
    check_same(RecurrentEncoder(U, depth=2, cell="gru", dropout=0.5), MASK)


def test_nothing_is_left_of_it():
    cell = layers.LSTMCell(U, dropout=0.5, recurrent_dropout=0.25)
    layer = layers.RNN(cell)
    layer(draw(B, T, D))

    def fail():
        with exportable_recurrence(layer):
            assert "inner_loop" in vars(layer)
            assert (cell.dropout, cell.recurrent_dropout) == (0, 0)
            raise KeyError("thrown")

    with pytest.raises(KeyError, match="thrown"):
        fail()
    assert "inner_loop" not in vars(layer)
    assert (cell.dropout, cell.recurrent_dropout) == (0.5, 0.25)


@pytest.mark.slow
def test_no_array_and_no_chance_is_in_the_graph():
    layer = layers.Bidirectional(layers.LSTM(U, dropout=0.5))
    with exportable_recurrence(layer):
        ours = operations(layer)
    assert not [name for name in ours if "TensorList" in name]
    assert not [name for name in ours if "Random" in name]
    assert "TensorListReserve" in operations(layer)


class OwnCall(layers.LSTM):
    def call(self, sequences, *args, **kwargs):
        return super().call(sequences * 2, *args, **kwargs)


class OwnLoop(layers.RNN):
    def inner_loop(self, *args, **kwargs):
        return super().inner_loop(*args, **kwargs)


@pytest.mark.parametrize(
    "layer",
    [
        layers.ConvLSTM1D(2, 2, name="strange"),
        OwnCall(U, name="strange"),
        OwnLoop(SumCell(), name="strange"),
    ],
)
def test_layers_that_loop_in_their_own_way_are_named(layer):
    wrapped = keras.Sequential([layer])
    message = f"{type(layer).__name__} `strange`.*RNN\\(cell\\)"
    with (
        pytest.raises(ValueError, match=message),
        exportable_recurrence(wrapped),
    ):
        pass


def test_stateful_layers_are_named():
    layer = layers.GRU(U, stateful=True, name="keeper")
    with (
        pytest.raises(ValueError, match=r"`keeper`.*stateful=False"),
        exportable_recurrence(layer),
    ):
        pass
