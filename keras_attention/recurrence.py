"""Keras RNN cells, one or stacked, run as one step of a recurrence."""

import contextlib
import inspect

import keras
from keras import ops
from keras import tree


def as_cells(cell) -> list:
    """List the cells of a stack, bottom first.

    Args:
        cell: A Keras RNN cell, a list of them, or a `StackedRNNCells`.

    Raises:
        ValueError: If one of them is not a cell.
    """
    if isinstance(cell, keras.layers.StackedRNNCells):
        cell = cell.cells
    cells = list(cell) if isinstance(cell, list | tuple) else [cell]
    if not cells:
        raise ValueError("`cell` must hold at least one cell. Received: []")
    for one in cells:
        is_loop = isinstance(one, keras.layers.RNN)
        if is_loop or not callable(one) or not hasattr(one, "state_size"):
            raise ValueError(
                "`cell` must be a Keras RNN cell, which runs one step, or a "
                f"list of them. Received: cell={one}. Instead of the layer "
                "LSTM pass LSTMCell, and likewise for others."
            )
    return cells


def state_sizes(cells) -> list[int]:
    """List the sizes of all states, each cell's in order, bottom first."""
    return tree.flatten([cell.state_size for cell in cells])


def output_size(cell) -> int:
    """Tell the size of what a cell gives at a step."""
    size = getattr(cell, "output_size", None)
    return tree.flatten(cell.state_size)[0] if size is None else size


def build_cells(cells, input_size: int):
    """Build every cell for the output of the one below it."""
    for cell in cells:
        if not cell.built:
            cell.build((None, input_size))
        input_size = output_size(cell)


def initial_states(cells, batch_size) -> list:
    """Let every cell give its initial states, as one flat list."""
    return tree.flatten(
        [cell.get_initial_state(batch_size=batch_size) for cell in cells]
    )


def run_cells(cells, x, states, training=None):
    """Run one step of a stack of cells.

    Args:
        cells: The cells, bottom first.
        x: Inputs `(B, D)`, or `(B, K, D)` for `K` parallel steps.
        states: Flat list of states, `(B, U)` or `(B, K, U)`.
        training: Whether cells apply their dropout.

    Returns:
        The top cell's output and the next flat list of states.
    """
    beams = ops.shape(x)[1] if len(x.shape) == 3 else None
    x, after = _fold(x, beams), []
    left = [_fold(state, beams) for state in states]
    with contextlib.nullcontext() if training else _without_dropout(cells):
        for cell in cells:
            count = len(tree.flatten(cell.state_size))
            own, left = left[:count], left[count:]
            takes = "training" in inspect.signature(cell.call).parameters
            x, new = cell(x, own, **({"training": training} if takes else {}))
            after.extend(tree.flatten(new))
    return _unfold(x, beams), [_unfold(state, beams) for state in after]


def _fold(x, beams):
    return x if beams is None else ops.reshape(x, (-1, x.shape[-1]))


def _unfold(x, beams):
    return x if beams is None else ops.reshape(x, (-1, beams, x.shape[-1]))


@contextlib.contextmanager
def dropout_masks(cells, x, states, training=None):
    """Draw the dropout masks of every cell once, for all the steps inside.

    A cell draws at its first step and keeps what it drew: inside a loop that
    is too late, and for the next batch it is stale.

    Args:
        cells: The cells, bottom first.
        x: One step's inputs of the bottom cell, for their shape and dtype.
        states: Flat list of states, likewise.
        training: Nothing is drawn unless it is true.
    """
    drawn = _droppers(cells) if training else []
    try:
        for cell in cells:
            own = states[: len(tree.flatten(cell.state_size))]
            states = states[len(own) :]
            if cell in drawn:
                cell.get_dropout_mask(x)
                cell.get_recurrent_dropout_mask(own[0])
            shape = (ops.shape(x)[0], output_size(cell))
            x = ops.zeros(shape, cell.compute_dtype)
        yield
    finally:
        reset_masks(drawn)


def reset_masks(cells):
    """Let every cell forget the dropout masks that it drew."""
    for cell in _droppers(cells):
        cell.reset_dropout_mask()
        cell.reset_recurrent_dropout_mask()


@contextlib.contextmanager
def _without_dropout(cells):
    """Set rates to 0: a SimpleRNNCell draws even what it does not apply."""
    rates = [(c, c.dropout, c.recurrent_dropout) for c in _droppers(cells)]
    try:
        for cell, *_ in rates:
            cell.dropout = cell.recurrent_dropout = 0.0
        yield
    finally:
        for cell, dropout, recurrent_dropout in rates:
            cell.dropout = dropout
            cell.recurrent_dropout = recurrent_dropout


def _droppers(cells):
    return [cell for cell in cells if hasattr(cell, "get_dropout_mask")]
