"""CellStack: one step against Keras' own stack, one beam at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import samples
from samples import BATCH
from samples import assert_close
from samples import draw
from samples import to_numpy

from keras_attention import LayerNormLSTMCell
from keras_attention.decoder import stack as cell_stack
from keras_attention.decoder.stack import CellStack

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


def run_cells(cells, x, states, training=None, masks=None):
    """Run one step whose inputs are whole."""
    stack = CellStack(cells)
    projected = stack.project_inputs(x, training)
    return stack.run(projected, states, training=training, masks=masks)


def make(**kwargs):
    cells = [
        keras.layers.LSTMCell(4, **kwargs),
        keras.layers.GRUCell(6, **kwargs),
        keras.layers.SimpleRNNCell(5, **kwargs),
    ]
    CellStack(cells).build(3)
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
    assert list(CellStack(cells[0])) == cells[:1]
    assert list(CellStack(tuple(cells))) == cells
    assert list(CellStack(stack)) == cells
    assert CellStack(cells).state_sizes == SIZES
    assert CellStack(cells)[1] is cells[1]
    assert len(CellStack(cells)) == 3


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
        lambda: keras.layers.LSTMCell,
    ],
)
def test_refuses_what_is_no_cell(wrong):
    with pytest.raises(ValueError, match=r"such as LSTMCell\(units\)"):
        CellStack(wrong())


def test_refuses_no_cell_at_all():
    with pytest.raises(ValueError, match="at least one"):
        CellStack([])


def test_a_cell_may_have_another_output_size():
    cells = [Wide(4), keras.layers.GRUCell(6)]
    assert CellStack(cells[:1]).output_size == 8
    assert CellStack(cells[:1]).query_size == 4
    CellStack(cells).build(3)
    assert cells[1].kernel.shape == (8, 18)
    given = [draw(2, size, dtype="float32") for size in (4, 4, 6)]
    y, after = run_cells(cells, inputs(2), given)
    sizes = [6, 4, 4, 6]
    assert [tuple(x.shape) for x in (y, *after)] == [(2, n) for n in sizes]


def test_a_cell_may_know_nothing_of_training():
    cells = [Plain(), keras.layers.LSTMCell(4, dropout=0.5)]
    CellStack(cells).build(3)
    first = CellStack(cells).initial_states(2)
    y, after = run_cells(cells, inputs(2), first, training=True)
    sizes = [4, 5, 4, 4]
    assert [tuple(x.shape) for x in (y, *after)] == [(2, n) for n in sizes]


# A step.


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("rates", [{}, {"dropout": 0.5}], ids=str)
@pytest.mark.parametrize("bottom", range(4))
def test_inputs_may_come_in_two_parts(bottom, rates, training):
    """Whatever cell is at the bottom, and whether it can read ahead."""
    cells = [*make(seed=7, **rates), Plain()]
    cells = [cells[bottom]] if bottom < 3 else [Plain()]
    cells[0].built = bottom < 3
    size = [3, 4, 6, 3][bottom]
    stack = CellStack(cells)
    stack.build(size)
    x = draw(BATCH, size, dtype="float32")
    given = [
        draw(BATCH, n, seed=k, dtype="float32")
        for k, n in enumerate(stack.state_sizes)
    ]
    with stack.dropout_masks(BATCH, size, training) as masks:
        want = run_cells(cells, x, given, training, masks)
        projected = stack.project_inputs(x[:, :2], training)
        got = stack.run(projected, given, x[:, 2:], training, masks)
    assert_close(got, want, 1e-6)


# Dropout.


def rates(**kwargs):
    return make(**{"seed": 7, **kwargs})


def step(cells, batch=64):
    """Ones into the bottom cell, so that what is dropped shows."""
    x = keras.ops.ones((batch, 3))
    first = [keras.ops.ones((batch, size)) for size in SIZES]

    def run(masks):
        return to_numpy(run_cells(cells, x, first, True, masks)[0])

    return x, first, run


def test_masks_are_those_that_keras_draws():
    """The same seeds drop the same, in `keras.layers.RNN` and here."""
    options = {"dropout": 0.5, "recurrent_dropout": 0.5}
    want, got = rates(**options), rates(**options)
    with CellStack(got).dropout_masks(2, 3, training=True) as masks:
        for cell, pair, size in zip(want, masks, [3, 4, 6], strict=True):
            units = cell.units
            drawn = (
                cell.get_dropout_mask(np.ones((2, size), "float32")),
                cell.get_recurrent_dropout_mask(np.ones((2, units), "float32")),
            )
            assert_close(keras.tree.flatten(pair), keras.tree.flatten(drawn), 0)


@pytest.mark.parametrize("training", [False, None])
def test_nothing_is_drawn_without_training(training):
    """Not even by SimpleRNNCell, which draws what it does not apply."""
    cells = rates(dropout=0.5, recurrent_dropout=0.5)

    def seeds():
        return [to_numpy(c.seed_generator.state.value) for c in cells]

    before = seeds()
    x, first, _ = step(cells)
    with CellStack(cells).dropout_masks(64, 3, training) as masks:
        assert masks is None
        y, _ = run_cells(cells, x, first, training, masks)
    np.testing.assert_array_equal(seeds(), before)
    assert_close(y, run_cells(make(), x, first)[0], 1e-6)


class OwnLSTMCell(keras.layers.LSTMCell):
    """A cell without equations, which draws and keeps its own masks."""


def test_a_cell_that_draws_itself_keeps_its_masks_for_a_block():
    cells = [OwnLSTMCell(4, dropout=0.5, recurrent_dropout=0.5, seed=7)]
    stack = CellStack(cells)
    stack.build(3)
    x, first = keras.ops.ones((2, 3)), [keras.ops.ones((2, 4))] * 2

    def run():
        return to_numpy(run_cells(cells, x, first, training=True)[0])

    with stack.dropout_masks(2, 3, training=True):
        np.testing.assert_array_equal(run(), run())
        drawn = to_numpy(keras.tree.flatten(cells[0].get_dropout_mask(x)))
    with stack.dropout_masks(2, 3, training=True):
        again = to_numpy(keras.tree.flatten(cells[0].get_dropout_mask(x)))
    assert not np.array_equal(drawn, again)


def test_what_a_cell_drew_is_forgotten_even_after_an_error():
    cells = [OwnLSTMCell(4, dropout=0.5)]
    stack = CellStack(cells)
    stack.build(3)
    with (
        pytest.raises(RuntimeError),
        stack.dropout_masks(4, 3, training=True),
    ):
        raise RuntimeError
    x, first = keras.ops.ones((2, 3)), [keras.ops.ones((2, 4))] * 2
    with stack.dropout_masks(2, 3, training=True):
        y, _ = run_cells(cells, x, first, training=True)
    assert tuple(y.shape) == (2, 4)


@pytest.mark.parametrize("training", [False, True])
def test_threads_see_and_leave_the_rates_of_a_cell(training):
    """A second one comes while the first one translates, and stays longer."""
    inside, entered = threading.Event(), threading.Event()
    calls, seen = [], []

    class Slow(keras.layers.SimpleRNNCell):
        def call(self, inputs, states, training=False):
            if not inside.is_set():
                inside.set()
                entered.wait(0.2)
            else:
                entered.set()
                calls[0].result(10)
                seen.append(self.dropout)
            return super().call(inputs, states, training)

    cells = [Slow(4, dropout=0.5, recurrent_dropout=0.25)]
    CellStack(cells).build(3)
    x, first = keras.ops.ones((2, 3)), [keras.ops.ones((2, 4))]
    with ThreadPoolExecutor(2) as pool:
        calls.append(pool.submit(run_cells, cells, x, first, False))
        assert inside.wait(10)
        calls.append(pool.submit(run_cells, cells, x, first, training))
    assert [y.result()[0].shape[-1] for y in calls] == [4, 4]
    assert seen == [0.5 if training else 0.0]
    assert (cells[0].dropout, cells[0].recurrent_dropout) == (0.5, 0.25)


@pytest.mark.parametrize("training", [False, True])
def test_a_replica_does_not_wait_for_the_rates(monkeypatch, training):
    """Who holds them may wait for this one, inside of its cell."""
    monkeypatch.setattr(cell_stack.backend, "replica", lambda: (0, 2))

    class Own(keras.layers.SimpleRNNCell):
        pass

    cells = [Own(4, dropout=0.5)]
    CellStack(cells).build(3)
    x, first = keras.ops.ones((2, 3)), [keras.ops.ones((2, 4))]
    with ThreadPoolExecutor(1) as pool, cell_stack.RATES:
        call = pool.submit(run_cells, cells, x, first, training)
        assert call.result(10)[0].shape[-1] == 4


# Residual stacks.


def test_residual_cells_add_what_comes_from_below():
    """All but the first; states stay those of the cells."""
    cells = [
        keras.layers.GRUCell(5),
        Plain(),
        LayerNormLSTMCell(5),
    ]
    stack = CellStack(cells, residual=True)
    stack.build(3)
    for cell in cells:
        samples.randomize(cell)
    before = [draw(BATCH, 5, seed=i, dtype="float32") for i in range(4)]
    x = inputs(BATCH)
    got = stack.run(stack.project_inputs(x), before)
    x, one = cells[0](x, before[:1])
    y, two = cells[1](x, before[1:2])
    x = x + y
    y, three = cells[2](x, before[2:])
    want = x + y, keras.tree.flatten([one, two, three])
    assert_close(got, want, 1e-6)


def test_residual_cells_need_one_size():
    with pytest.raises(ValueError, match=r"residual=True for.*\[4, 6, 5\]"):
        CellStack(make(), residual=True)
