"""StateBridge: which states of an encoder become which of a decoder."""

import keras
import numpy as np
import pytest
from samples import assert_close
from samples import draw
from samples import randomize
from samples import to_numpy
from tiers import some

from keras_attention import RecurrentEncoder
from keras_attention import StateBridge

SIZES = {"lstm": [4, 4], "gru": [4]}


def states(cell="lstm", directions=2, depth=1):
    """A flat list, or one such list for each layer."""
    layers = [
        [
            draw(2, size, seed=10 * layer + i)
            for i, size in enumerate(SIZES[cell] * directions)
        ]
        for layer in range(depth)
    ]
    return layers[0] if depth == 1 else layers


def pairs(states, bidirectional=True):
    """What each state of the decoder is made of, by the contract."""
    layers = states if isinstance(states[0], list) else [states]
    if not bidirectional:
        return [[state] for layer in layers for state in layer]
    halves = [(layer, len(layer) // 2) for layer in layers]
    return [
        [layer[i], layer[half + i]]
        for layer, half in halves
        for i in range(half)
    ]


def make(given, **kwargs):
    bridge = StateBridge(**kwargs, dtype="float64")
    bridge(given)
    randomize(bridge)
    return bridge


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("mode", ["dense", "concat", "sum", "zeros"])
def test_every_mode(mode, cell, bidirectional, depth):
    given = states(cell, 1 + bidirectional, depth)
    bridge = make(given, mode=mode, bidirectional=bidirectional)
    found = bridge(given)
    assert isinstance(found, list)
    named = {w.name: to_numpy(w.value) for w in bridge.weights}
    rules = {
        "concat": lambda parts, _: np.concatenate(parts, axis=-1),
        "sum": lambda parts, _: sum(parts),
        "zeros": lambda parts, _: 0 * np.concatenate(parts, axis=-1),
        "dense": lambda parts, i: np.tanh(
            np.concatenate(parts, axis=-1) @ named[f"kernel_{i}"]
            + named[f"bias_{i}"]
        ),
    }
    parts = pairs(given, bidirectional)
    want = [rules[mode](x, i) for i, x in enumerate(parts)]
    assert_close(found, want, 1e-6)
    assert len(bridge.weights) == (2 * len(want) if mode == "dense" else 0)


@pytest.mark.parametrize("mode", ["dense", "zeros"])
@pytest.mark.parametrize("depth", [1, 2])
def test_units_set_the_size(depth, mode):
    given = states(depth=depth)
    found = make(given, mode=mode, units=5)(given)
    assert [tuple(x.shape) for x in found] == [(2, 5)] * (2 * depth)


def test_layers_may_have_several_sizes():
    given = [[draw(2, 3)] * 2, [draw(2, 5)] * 2]
    found = make(given)(given)
    assert [x.shape[-1] for x in found] == [6, 10]


def test_another_activation():
    given = states("gru")
    bridge = make(given, activation=None)
    kernel, bias = (to_numpy(w.value) for w in bridge.weights)
    want = np.concatenate(given, axis=-1) @ kernel + bias
    assert_close(bridge(given), [want], 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dense", "concat", "sum", "zeros"])
@pytest.mark.parametrize("depth", some([2, 1], 1))
def test_symbolic_states(depth, mode):
    encoder = RecurrentEncoder(4, depth=depth)
    inputs = keras.Input((None, 3))
    _, *given = encoder(inputs)
    found = StateBridge(mode)(given)
    size = 4 if mode == "sum" else 8
    assert [x.shape for x in found] == [(None, size)] * (2 * depth)
    model = keras.Model(inputs, found)
    shapes = [x.shape for x in model.predict(draw(5, 6, 3), verbose=0)]
    assert shapes == [(5, size)] * (2 * depth)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("mode", ["dense", "concat", "sum", "zeros"])
def test_dtype_policy(mode, policy):
    bridge = StateBridge(mode, dtype=policy)
    for x in bridge(states()):
        dtype = keras.backend.standardize_dtype(x.dtype)
        assert dtype == bridge.compute_dtype


def test_an_odd_number_of_states_has_no_directions():
    with pytest.raises(ValueError, match="bidirectional=False"):
        StateBridge()(states(directions=1)[:1])


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"mode": "mean"}, "`mode` must be one of"),
        ({"mode": "sum", "units": 4}, "`units` applies only to"),
        ({"mode": "concat", "units": 4}, "`units` applies only to"),
        ({"units": 0}, "must be a positive"),
    ],
)
def test_refuses_wrong_arguments(wrong, word):
    with pytest.raises(ValueError, match=word):
        StateBridge(**wrong)
