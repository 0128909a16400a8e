"""equations: what Keras' cells compute, whole and in parts, with dropout."""

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from gradients import to_tensor

from keras_attention import LayerNormLSTMCell
from keras_attention.decoder.equations import AbstractEquations
from keras_attention.decoder.equations import find_equations
from keras_attention.ops.operations import Recorder
from keras_attention.ops.operations import recording

B, D, M, U = 3, 4, 2, 5
CELLS = {
    "lstm": (keras.layers.LSTMCell, {}),
    "lstm_bare": (keras.layers.LSTMCell, {"use_bias": False}),
    "lstm_relu": (
        keras.layers.LSTMCell,
        {"activation": "relu", "recurrent_activation": "tanh"},
    ),
    "gru": (keras.layers.GRUCell, {}),
    "gru_bare": (keras.layers.GRUCell, {"use_bias": False}),
    "gru_before": (keras.layers.GRUCell, {"reset_after": False}),
    "gru_before_bare": (
        keras.layers.GRUCell,
        {"reset_after": False, "use_bias": False},
    ),
    "layer_norm": (LayerNormLSTMCell, {}),
    "layer_norm_bare": (LayerNormLSTMCell, {"use_bias": False}),
    "simple": (keras.layers.SimpleRNNCell, {}),
    "simple_linear": (
        keras.layers.SimpleRNNCell,
        {"activation": None, "use_bias": False},
    ),
}
DROPOUT = [
    {},
    {"dropout": 0.4},
    {"recurrent_dropout": 0.4},
    {"dropout": 0.4, "recurrent_dropout": 0.4},
]


@pytest.fixture(params=CELLS)
def kind(request):
    return CELLS[request.param]


def make(kind, **more):
    cell_class, options = kind
    cell = cell_class(U, seed=3, **options, **more)
    cell.build((None, D + M))
    samples.randomize(cell)
    return cell


def inputs(cell):
    draw = np.random.default_rng(0).normal
    sizes = [D, M, *keras.tree.flatten(cell.state_size)]
    given = [draw(size=(B, size)).astype("float32") for size in sizes]
    x, more, *states = map(to_tensor, given)
    return x, more, states


def compare(found, expected):
    for x, y in zip(
        keras.tree.flatten(found), keras.tree.flatten(expected), strict=True
    ):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=2e-6)


class Strict(Recorder):
    """Knows every constant, or complains."""

    def perform(self, operation, x, *constants):
        result = super().perform(operation, x, *constants)
        assert None not in self.operations[-1][1]
        return result


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("rates", DROPOUT, ids=str)
def test_is_the_cell(kind, rates, in_parts):
    """By products that a loop takes out.

    Else a kernel's gradient would be added up step by step.
    """
    cell = make(kind, **rates)
    x, more, states = inputs(cell)
    whole = keras.ops.concatenate([x, more], axis=-1)
    expected = cell(whole, states, training=True)  # draws the masks
    masks = cell.get_dropout_mask(whole)
    recurrent = cell.get_recurrent_dropout_mask(states[0])
    if in_parts and masks is not None:
        return  # inputs are dropped before they are parted
    if not in_parts:
        x, more = whole, None
    variables = cell.trainable_variables
    values = [keras.ops.convert_to_tensor(w.value) for w in variables]
    equations = find_equations(cell)
    with recording(Strict(variables, values)) as probe:
        read = equations.project_inputs(cell, x, masks)
        found = equations.step(cell, read, more, states, recurrent)
    assert probe.operations
    compare(found, expected)


def test_equations_must_be_written():
    with pytest.raises(NotImplementedError, match="`step"):
        AbstractEquations().step(None, None, None, None)
