"""onnx_recurrence: operators of ONNX give the numbers of Keras' layers."""

import itertools

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf
from keras import layers
from tiers import SLOW
from tiers import some

from keras_attention.export.onnx import function_to_onnx
from keras_attention.export.onnx_recurrence import onnx_recurrence
from keras_attention.export.portable import portable

D, U = 4, 6
SHAPES = (3, 5), (1, 1), (2, 9)
KINDS = {
    "LSTM": lambda **o: layers.LSTM(U, **o),
    "GRU": lambda **o: layers.GRU(U, **o),
    "cell": lambda **o: layers.RNN(layers.LSTMCell(U, use_bias=False), **o),
    "both": lambda **o: layers.Bidirectional(layers.LSTM(U, **o)),
    "both GRU": lambda **o: layers.Bidirectional(layers.GRU(U, **o)),
}
FIRST = [  # each option of each kind; the others are slow
    ("LSTM", True, False, True),
    ("LSTM", False, True, False),
    ("GRU", True, True, True),
    ("GRU", False, False, False),
    ("cell", True, False, True),
    ("cell", False, False, False),
    ("both", True, True, False),
    ("both", False, False, False),
    ("both GRU", True, False, False),
    ("both GRU", False, True, False),
]
EVERY = itertools.product(KINDS, *[[True, False]] * 3)
CASES = FIRST + [
    (kind, sequences, zeros, backwards)
    for kind, sequences, zeros, backwards in EVERY
    if not (zeros and kind == "cell")
    and not (backwards and kind.startswith("both"))
    and (kind, sequences, zeros, backwards) not in FIRST
]
OTHERS = {  # which no operator computes
    "activation": lambda: layers.LSTM(U, activation="relu"),
    "gates": lambda: layers.GRU(U, recurrent_activation="hard_sigmoid"),
    "GRU of Cho": lambda: layers.GRU(U, reset_after=False),
    "stack": lambda: layers.RNN([layers.LSTMCell(U), layers.GRUCell(U)]),
    "simple": lambda: layers.SimpleRNN(U),
}


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def convert(layer, masked=True, states=(), quantize=None):
    """Return a file with the outputs of a layer, which gets random weights."""
    layer(draw(1, 2, D))
    for weight in layer.weights:
        weight.assign(draw(*weight.shape))
    specs = {"x": tf.TensorSpec((None, None, D), tf.float32, "x")}
    if masked:
        specs["mask"] = tf.TensorSpec((None, None), tf.bool, "mask")
    names = [f"state{i}" for i, _ in enumerate(states)]
    for name in names:
        specs[name] = tf.TensorSpec((None, U), tf.float32, name)

    def run(*given):
        given = dict(zip(specs, given, strict=True))
        own = {"initial_state": [given[name] for name in names]}
        found = layer(
            given["x"], mask=given.get("mask"), **(own if states else {})
        )
        found = keras.tree.flatten(found)
        return {f"y{i}": x for i, x in enumerate(found)}

    function = tf.function(run, [*specs.values()], autograph=False)
    with portable(layer), onnx_recurrence(layer):
        outputs = function.get_concrete_function().structured_outputs
    return function_to_onnx(function, "g", [*outputs], {}, quantize, "a test")


def operators(content):
    return {node.op_type for node in content.graph.node}


def opened(content):
    return onnxruntime.InferenceSession(content.SerializeToString())


def check_same(layer, session, x, mask=None, **states):
    given = {"x": x, **states}
    if mask is not None:
        given["mask"] = mask
    own = {"initial_state": [*states.values()]} if states else {}
    wanted = keras.tree.flatten(layer(x, mask=mask, **own))
    for y, z in zip(session.run(None, given), wanted, strict=True):
        np.testing.assert_allclose(y, z, atol=1e-5)


def masks(rows, steps):
    """Right-padded, left-padded, with holes, and without a step."""
    places = np.arange(steps) + np.zeros((rows, 1))
    yield places < np.arange(1, rows + 1)[:, None]
    yield places >= np.arange(rows)[:, None]
    yield draw(rows, steps) > 0
    yield np.zeros((rows, steps), bool)


@pytest.mark.parametrize(
    ("kind", "sequences", "zeros", "backwards"), some(CASES, len(FIRST), SLOW)
)
def test_gives_what_keras_gives(kind, sequences, zeros, backwards):
    layer = KINDS[kind](
        return_sequences=sequences,
        return_state=True,
        go_backwards=backwards,
        **({} if kind == "cell" else {"zero_output_for_mask": zeros}),
    )
    content = convert(layer)
    assert "Loop" not in operators(content)
    session = opened(content)
    for rows, steps in SHAPES:
        for mask in masks(rows, steps):
            check_same(layer, session, draw(rows, steps, D), mask)


@pytest.mark.parametrize("backwards", [True, False])
def test_without_a_mask(backwards):
    layer = layers.GRU(U, return_sequences=True, go_backwards=backwards)
    content = convert(layer, masked=False)
    assert "Loop" not in operators(content)
    session = opened(content)
    for shape in SHAPES:
        check_same(layer, session, draw(*shape, D))


def test_initial_states_stay_where_a_row_has_no_step():
    layer = layers.LSTM(U, return_state=True)
    states = draw(3, U), -draw(3, U)
    session = opened(convert(layer, states=states))
    states = dict(zip(["state0", "state1"], states, strict=True))
    for mask in masks(3, 4):
        check_same(layer, session, draw(3, 4, D), mask, **states)


@pytest.mark.parametrize("masked", [True, False])
def test_an_empty_batch_does_not_end_the_process(masked):
    layer = layers.LSTM(U, return_sequences=True, return_state=True)
    given = {"x": draw(0, 3, D)}
    if masked:
        given["mask"] = np.zeros((0, 3), bool)
    found = opened(convert(layer, masked)).run(None, given)
    assert [x.shape for x in found] == [(0, 3, U), (0, U), (0, U)]


@pytest.mark.parametrize("kind", OTHERS)
def test_what_no_operator_computes_stays_a_loop(kind):
    layer = OTHERS[kind]()
    content = convert(layer)
    assert "Loop" in operators(content)
    session = opened(content)
    for mask in masks(3, 4):
        check_same(layer, session, draw(3, 4, D), mask)


@pytest.mark.parametrize(
    ("kind", "operator"),
    [("LSTM", "DynamicQuantizeLSTM"), ("GRU", "GRU")],
)
def test_kernels_of_8_bits(kind, operator):
    layer = KINDS[kind](return_sequences=True)
    content = convert(layer, quantize="int8")
    assert operator in operators(content)
    kernels = [
        x
        for x in content.graph.initializer
        if len(x.dims) == 3 and x.dims[2] > 1
    ]
    assert {x.data_type for x in kernels} == {onnx.TensorProto.INT8}
    x, mask = draw(3, 5, D), draw(3, 5) > 0
    (found,) = opened(content).run(None, {"x": x, "mask": mask})
    np.testing.assert_allclose(found, layer(x, mask=mask), atol=0.1)


def test_nothing_is_left_of_it():
    layer = layers.LSTM(U)
    before = dict(vars(layer))
    with onnx_recurrence(layer):
        assert "inner_loop" in vars(layer)
    assert dict(vars(layer)) == before
