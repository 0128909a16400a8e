"""Keras RNN cells, one or stacked, run as one step of a stack."""

import contextlib
import inspect

import keras
from keras import ops
from keras import tree

from keras_attention.decoder import equations
from keras_attention.decoder.equations import EQUATIONS


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


def read(cells, x, training=None):
    """Do ahead what the bottom cell can do with a part of its inputs.

    Args:
        cells: The cells, bottom first.
        x: The first part of a step's inputs, or of those of all steps,
            `(..., D)`.
        training: Whether cells apply their dropout.

    Returns:
        What `run_cells` takes instead: for Keras' own cells the product of
        `x`, with the bias, unless dropout needs the inputs whole.
    """
    cell = cells[0]
    if not _reads_ahead(cell, training):
        return x
    return equations.read(cell, ops.cast(x, cell.compute_dtype))


def run_cells(cells, x, states, more=None, training=None):
    """Run one step of a stack of cells.

    Args:
        cells: The cells, bottom first.
        x: What `read` made of the first part of the inputs, with a batch
            `(B, ...)`, or `(B, K, ...)` for `K` parallel steps.
        states: Flat list of states, `(B, U)` or `(B, K, U)`.
        more: The last part of the inputs, likewise, or `None`.
        training: Whether cells apply their dropout.

    Returns:
        The top cell's output and the next flat list of states.
    """
    beams = ops.shape(x)[1] if len(x.shape) == 3 else None
    x, after = _fold(x, beams), []
    more = None if more is None else _fold(more, beams)
    left = [_fold(state, beams) for state in states]
    for cell in cells:
        count = len(tree.flatten(cell.state_size))
        own, left = left[:count], left[count:]
        ahead = cell is cells[0] and _reads_ahead(cell, training)
        if more is not None and not ahead:
            x, more = ops.concatenate([x, more], axis=-1), None
        if type(cell) in EQUATIONS:
            x, new = _run_equations(cell, x, more, own, ahead, training)
        else:
            x, new = _call(cell, x, own, training)
        more = None
        after.extend(tree.flatten(new))
    return _unfold(x, beams), [_unfold(state, beams) for state in after]


def _reads_ahead(cell, training):
    return type(cell) in EQUATIONS and not (training and cell.dropout)


def _masks(cell, rate, x, training):
    """Get a cell's masks, drawn before the loop, or now if there is none."""
    if not training or not getattr(cell, rate):
        return None
    return getattr(cell, f"get_{rate}_mask")(x)


def _run_equations(cell, x, more, states, is_read, training):
    """Run a cell of Keras by its equations."""
    x, *states = [ops.cast(y, cell.compute_dtype) for y in [x, *states]]
    if more is not None:
        more = ops.cast(more, x.dtype)
    if not is_read:
        masks = _masks(cell, "dropout", x, training)
        x = equations.read(cell, x, masks)
    masks = _masks(cell, "recurrent_dropout", states[0], training)
    return EQUATIONS[type(cell)](cell, x, more, states, masks)


def _call(cell, x, states, training):
    """Call a cell whose equations are its own."""
    takes = "training" in inspect.signature(cell.call).parameters
    options = {"training": training} if takes else {}
    with contextlib.nullcontext() if training else _without_dropout([cell]):
        return cell(x, states, **options)


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
