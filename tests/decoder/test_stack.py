"""Keras RNN cells as one step: against Keras' own stack, one beam at a time."""

import keras
import numpy as np
import pytest
import samples
from samples import BATCH
from samples import assert_close
from samples import draw
from samples import to_numpy

from keras_attention.decoder import stack

SIZES = [4, 4, 6, 5]


class Plain(keras.layers.Layer):
    """A cell of one's own: no `training`, no `output_size`, no dropout."""

    state_size = 5

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 5), name="kernel")

    def call(self, x, states):
        y = keras.ops.tanh(x @ self.kernel + states[0])
        return y, [y]

    def get_initial_state(self, batch_size=None):
        return [keras.ops.zeros((batch_size, 5))]


class Wide(keras.layers.LSTMCell):
    """A cell whose output is larger than its state."""

    def __init__(self, units):
        super().__init__(units)
        self.output_size = 2 * units

    def call(self, *args, **kwargs):
        y, states = super().call(*args, **kwargs)
        return keras.ops.concatenate([y, y], axis=-1), states


def run_cells(cells, x, states, training=None):
    """Run one step whose inputs are whole."""
    read = stack.read(cells, x, training)
    return stack.run_cells(cells, read, states, training=training)


def make(**kwargs):
    cells = [
        keras.layers.LSTMCell(4, **kwargs),
        keras.layers.GRUCell(6, **kwargs),
        keras.layers.SimpleRNNCell(5, **kwargs),
    ]
    stack.build_cells(cells, 3)
    for cell in cells:
        samples.randomize(cell)
    return cells


def states(*shape):
    return [
        draw(*shape, size, seed=i, dtype="float32")
        for i, size in enumerate(SIZES)
    ]


def inputs(*shape):
    return keras.ops.convert_to_tensor(draw(*shape, 3, dtype="float32"))


# Which cells there are.


def test_one_cell_a_list_and_a_stack_are_lists():
    cells = make()
    stack = keras.layers.StackedRNNCells(cells)
    assert stack.as_cells(cells[0]) == cells[:1]
    assert stack.as_cells(tuple(cells)) == cells
    assert stack.as_cells(stack) == cells
    assert stack.state_sizes(cells) == SIZES


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: keras.layers.LSTM(4),
        lambda: keras.layers.RNN(keras.layers.LSTMCell(4)),
        lambda: keras.layers.Bidirectional(keras.layers.LSTM(4)),
        lambda: [keras.layers.LSTMCell(4), keras.layers.GRU(4)],
        lambda: keras.layers.Dense(4),
        lambda: "lstm",
        lambda: 256,
    ],
)
def test_refuses_what_is_no_cell(wrong):
    with pytest.raises(ValueError, match="pass LSTMCell"):
        stack.as_cells(wrong())


def test_refuses_no_cell_at_all():
    with pytest.raises(ValueError, match="at least one"):
        stack.as_cells([])


def test_a_cell_may_have_another_output_size():
    cells = [Wide(4), keras.layers.GRUCell(6)]
    assert stack.output_size(cells[0]) == 8
    stack.build_cells(cells, 3)
    assert cells[1].kernel.shape == (8, 18)
    given = [draw(2, size, dtype="float32") for size in (4, 4, 6)]
    y, after = run_cells(cells, inputs(2), given)
    assert [tuple(x.shape) for x in (y, *after)] == [
        (2, 6),
        (2, 4),
        (2, 4),
        (2, 6),
    ]


def test_a_cell_may_know_nothing_of_training():
    cells = [Plain(), keras.layers.LSTMCell(4, dropout=0.5)]
    stack.build_cells(cells, 3)
    first = stack.initial_states(cells, 2)
    y, after = run_cells(cells, inputs(2), first, training=True)
    assert [tuple(x.shape) for x in (y, *after)] == [
        (2, 4),
        (2, 5),
        (2, 4),
        (2, 4),
    ]
    stack.reset_masks(cells)


# A step.


def test_a_step_is_that_of_keras_stack():
    cells = make()
    stack = keras.layers.StackedRNNCells(cells)
    h, c, g, s = states(BATCH)
    want, after = stack(inputs(BATCH), [[h, c], [g], [s]])
    got = run_cells(cells, inputs(BATCH), [h, c, g, s])
    assert_close(got, (want, after), 1e-7)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("rates", [{}, {"dropout": 0.5}], ids=str)
@pytest.mark.parametrize("bottom", range(4))
def test_inputs_may_come_in_two_parts(bottom, rates, training):
    """Whatever cell is at the bottom, and whether it can read ahead."""
    cells = [*make(seed=7, **rates), Plain()]
    cells = [cells[bottom]] if bottom < 3 else [Plain()]
    cells[0].built = bottom < 3
    size = [3, 4, 6, 3][bottom]
    stack.build_cells(cells, size)
    x = draw(BATCH, size, dtype="float32")
    given = [
        draw(BATCH, n, seed=k, dtype="float32")
        for k, n in enumerate(stack.state_sizes(cells))
    ]
    with stack.dropout_masks(cells, x, given, training):
        want = run_cells(cells, x, given, training)
        read = stack.read(cells, x[:, :2], training)
        got = stack.run_cells(cells, read, given, x[:, 2:], training)
    assert_close(got, want, 1e-6)


def test_initial_states_are_one_flat_list():
    found = to_numpy(stack.initial_states(make(), 2))
    assert [x.shape for x in found] == [(2, size) for size in SIZES]
    assert not any(x.any() for x in found)


def test_beams_are_separate_runs():
    cells, x, before = make(), inputs(2, 3), states(2, 3)
    output, after = run_cells(cells, x, before)
    for k in range(3):
        want = run_cells(cells, x[:, k], [s[:, k] for s in before])
        got = (output[:, k], [s[:, k] for s in after])
        assert_close(got, want, 1e-6)


# Dropout.


def rates(**kwargs):
    return make(**{"seed": 7, **kwargs})


def step(cells, batch=64):
    """Ones into the bottom cell, so that what is dropped shows."""
    x = keras.ops.ones((batch, 3))
    first = [keras.ops.ones((batch, size)) for size in SIZES]
    return (
        x,
        first,
        lambda: to_numpy(run_cells(cells, x, first, training=True)[0]),
    )


@pytest.mark.parametrize("rate", ["dropout", "recurrent_dropout"])
def test_masks_are_drawn_once_for_a_block(rate):
    cells = rates(**{rate: 0.5})
    x, first, run = step(cells)
    results = []
    for _ in range(2):
        with stack.dropout_masks(cells, x, first, training=True):
            results.append((run(), run()))
    (a, b), (c, _) = results
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    assert not np.allclose(a[0], a[1])  # rows have their own


@pytest.mark.parametrize("rate", ["dropout", "recurrent_dropout"])
def test_masks_fit_every_cell(rate):
    """What a cell drops are its own inputs, whatever size they have."""
    cells = rates(**{rate: 0.5})
    sizes = {"dropout": [3, 4, 6], "recurrent_dropout": [4, 6, 5]}[rate]
    x, first, _ = step(cells, batch=2)
    with stack.dropout_masks(cells, x, first, training=True):
        for cell, size in zip(cells, sizes, strict=True):
            ask = getattr(cell, f"get_{rate}_mask")
            mask = keras.tree.flatten(ask(None))[0]
            assert tuple(mask.shape) == (2, size)


@pytest.mark.parametrize("training", [False, None])
def test_nothing_is_drawn_without_training(training):
    """Not even by SimpleRNNCell, which draws what it does not apply."""
    cells = rates(dropout=0.5, recurrent_dropout=0.5)

    def seeds():
        return [to_numpy(c.seed_generator.state.value) for c in cells]

    before = seeds()
    x, first, _ = step(cells)
    with stack.dropout_masks(cells, x, first, training):
        y, _ = run_cells(cells, x, first, training)
    np.testing.assert_array_equal(seeds(), before)
    assert_close(y, run_cells(make(), x, first)[0], 1e-6)
    assert [(c.dropout, c.recurrent_dropout) for c in cells] == [(0.5, 0.5)] * 3


def test_masks_are_forgotten_even_after_an_error():
    cells = rates(dropout=0.5)
    x, first, _ = step(cells, batch=4)
    with (
        pytest.raises(RuntimeError),
        stack.dropout_masks(cells, x, first, training=True),
    ):
        raise RuntimeError
    x, first, run = step(cells, batch=2)
    with stack.dropout_masks(cells, x, first, training=True):
        assert run().shape == (2, 5)
