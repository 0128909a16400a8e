"""The recurrent cells of a decoder, one or a stack, run as one cell."""

import contextlib
import inspect
import threading
from collections.abc import Sequence

import keras
from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import described
from keras_attention.decoder.equations import find_equations
from keras_attention.ops import cast
from keras_attention.ops import masked_loop
from keras_attention.ops.replicas import own_seed

RATES = threading.RLock()  # of dropout: cells share them among threads


class CellStack(Sequence):
    """Runs Keras RNN cells, bottom first, as one cell.

    Args:
        cell: A Keras RNN cell, a list of them, or a `StackedRNNCells`.
        residual: Whether every cell except the first adds its inputs to its
            outputs. Defaults to `False`.

    Raises:
        ValueError: If one of them is not a cell, or if residual cells differ
            in size.
    """

    def __init__(self, cell, residual: bool = False):
        if isinstance(cell, keras.layers.StackedRNNCells):
            cell = cell.cells
        cells = list(cell) if isinstance(cell, list | tuple) else [cell]
        if not cells:
            raise ValueError(
                "`cell` must contain at least one cell. Received: cell=[]"
            )
        for one in cells:
            _check_cell(one)
        self.cells, self.residual = cells, residual
        sizes = [_output_size(one) for one in cells]
        if residual and len(set(sizes)) > 1:
            raise ValueError(
                "`residual` needs cells of the same size. Received: "
                f"residual=True for cells of sizes {sizes}. Use the same units "
                "for all cells, or omit `residual`."
            )

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index):
        return self.cells[index]

    @property
    def variables(self) -> list:
        """Variables of all cells."""
        return [v for cell in self.cells for v in cell.variables]

    @property
    def state_sizes(self) -> list[int]:
        """Sizes of the states of all cells, bottom first."""
        return [size for cell in self.cells for size in _state_sizes(cell)]

    @property
    def output_size(self) -> int:
        """Size of the top cell's output."""
        return _output_size(self.cells[-1])

    @property
    def query_size(self) -> int:
        """Size of the top cell's first state."""
        return _state_sizes(self.cells[-1])[0]

    def top_state(self, states: list):
        """Return the top cell's first state, `h`, of a flat list of states."""
        return states[-len(_state_sizes(self.cells[-1]))]

    def build(self, input_size: int):
        """Build every cell for the output of the cell below it."""
        for cell in self.cells:
            if not cell.built:
                cell.build((None, input_size))
            input_size = _output_size(cell)

    def initial_states(self, batch_size) -> list:
        """Return the flat list of the cells' own initial states."""
        return tree.flatten(
            [c.get_initial_state(batch_size=batch_size) for c in self.cells]
        )

    def project_inputs(self, x, training: bool | None = None):
        """Precompute the input projection of the bottom cell, if possible.

        Args:
            x: The first features of the inputs, of one step or of all steps,
                `(..., D)`.
            training: Whether cells apply their dropout.

        Returns:
            The projection, if the bottom cell has registered equations and
            its inputs are not dropped out; else `x` itself.
        """
        cell = self.cells[0]
        if not _projects_ahead(cell, training):
            return x
        x = ops.cast(x, cell.compute_dtype)
        return find_equations(cell).project_inputs(cell, x)

    def run(
        self, x, states, rest=None, training: bool | None = None, masks=None
    ) -> tuple:
        """Run one step.

        Args:
            x: What `project_inputs` returned for this step, `(B, ...)`.
            states: Flat list of states, `(B, U)`.
            rest: The remaining features of the inputs, `(B, D)`, or `None`.
            training: Whether cells apply their dropout.
            masks: What `dropout_masks` yielded.

        Returns:
            The top cell's output and the flat list of the next states.
        """
        left, after = list(states), []
        masks = masks or [(None, None)] * len(self.cells)
        for cell, own_masks in zip(self.cells, masks, strict=True):
            count = len(_state_sizes(cell))
            own, left = left[:count], left[count:]
            ahead = cell is self.cells[0] and _projects_ahead(cell, training)
            if rest is not None and not ahead:
                x, rest = ops.concatenate([x, rest], axis=-1), None
            below = x
            if find_equations(cell):
                x, new = _run_equations(cell, x, rest, own, ahead, own_masks)
            else:
                x, new = _call(cell, x, own, training)
                new = tree.flatten(new)
            if self.residual and cell is not self.cells[0]:
                x = ops.cast(below, x.dtype) + x
            rest = None
            after.extend(new)
        return x, after

    @contextlib.contextmanager
    def dropout_masks(
        self, rows, input_size: int, training: bool | None = None
    ):
        """Draw the dropout masks of all cells, for all steps of a sequence.

        Args:
            rows: Number of rows of the states.
            input_size: Size of the bottom cell's inputs.
            training: Whether to draw masks. Defaults to `None`, no masks.

        Yields:
            The masks for `run`, or `None`. A cell that draws its own masks
            keeps them until the end of the `with` block.
        """
        masks, own = [], []
        try:
            for cell in self.cells if training else ():
                shapes = (rows, input_size), (rows, _state_sizes(cell)[0])
                input_size = _output_size(cell)
                if find_equations(cell):
                    masks.append(_draw_masks(cell, *shapes))
                    continue
                masks.append((None, None))
                if hasattr(cell, "get_dropout_mask"):
                    own.append(cell)
                    _let_draw(cell, *shapes)
            yield masks or None
        finally:
            for cell in own:
                cell.reset_dropout_mask()
                cell.reset_recurrent_dropout_mask()


def run_cells(
    stack: CellStack,
    sequence,
    real=None,
    states=None,
    training: bool = False,
    backwards: bool = False,
    repeats: bool = False,
) -> tuple:
    """Run cells over a sequence, in training, in streams and in exports.

    Args:
        stack: The cells. The caller keeps the stack until gradients are
            computed.
        sequence: `(T, B, D)`.
        real: Boolean `(T, B)`, `True` at valid steps, or `None` for all. Masked
            steps do not change the states.
        states: Flat list of states before the sequence. Defaults to the
            cells' own initial states.
        training: Whether cells apply their dropout, and gradients use the fast
            loop, which supports only first derivatives. Defaults to `False`.
        backwards: Whether to run from the last step to the first step. Defaults
            to `False`.
        repeats: Whether a masked step repeats the output of the previous step
            instead of returning 0. Defaults to `False`.

    Returns:
        Outputs `(T, B, U)`, and the final states.
    """
    steps, rows = ops.shape(sequence)[:2]
    size = sequence.shape[-1]
    if states is None:
        states = stack.initial_states(rows)
    # As a matrix: TensorFlow adds the bias within the product.
    x = stack.project_inputs(ops.reshape(sequence, (-1, size)), training)
    x = ops.reshape(x, (steps, rows, x.shape[-1]))
    blank = [ops.zeros((rows, stack.output_size), x.dtype)]
    count, repeats = len(states), repeats and real is not None
    if repeats:
        states = [*states, *blank]
    with stack.dropout_masks(rows, size, training) as masks:

        def step(stack, states, x, _):
            output, after = stack.run(
                x, states[:count], training=training, masks=masks
            )
            return [*after, output] if repeats else after, [output]

        states, (outputs,) = masked_loop(
            step,
            states,
            x,
            real,
            blank,
            steps,
            stack,
            training=training,
            reverse=backwards,
            masked_outputs=(lambda states: states[count:]) if repeats else None,
        )
    return outputs, list(states[:count])


def _check_cell(cell):
    is_loop = isinstance(cell, keras.layers.RNN | type)
    if is_loop or not callable(cell) or not hasattr(cell, "state_size"):
        raise ValueError(
            "`cell` must be a Keras RNN cell, which runs one step, or a list "
            f"of them. Received: cell={described(cell)}. Pass a cell instead "
            "of a layer, such as LSTMCell(units) instead of LSTM(units)."
        )


def _state_sizes(cell) -> list[int]:
    sizes = cell.state_size
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    if all(isinstance(n, int) for n in sizes):
        return list(sizes)
    return tree.flatten(sizes)


def _output_size(cell) -> int:
    size = getattr(cell, "output_size", None)
    return _state_sizes(cell)[0] if size is None else size


def _projects_ahead(cell, training):
    return find_equations(cell) and not (
        training and getattr(cell, "dropout", 0)
    )


def _run_equations(cell, x, rest, states, is_projected, masks):
    x, *states = [cast(y, cell.compute_dtype) for y in [x, *states]]
    if rest is not None:
        rest = cast(rest, cell.compute_dtype)
    equations = find_equations(cell)
    if not is_projected:
        x = equations.project_inputs(cell, x, masks[0])
    return equations.step(cell, x, rest, states, masks[1])


def _call(cell, x, states, training):
    """Call a cell that has no registered equations.

    `SimpleRNNCell` draws masks in inference as well, unless its rates are 0.
    """
    takes = "training" in inspect.signature(cell.call).parameters
    options = {"training": training} if takes else {}
    sizes = cell.state_size
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    states = list(tree.pack_sequence_as(sizes, states))
    if not hasattr(cell, "get_dropout_mask"):
        return cell(x, states, **options)
    rates = contextlib.nullcontext() if training else _no_rates(cell)
    with _one_thread(), rates:
        return cell(x, states, **options)


def _draw_masks(cell, input_shape, state_shape):
    """Draw the masks of inputs and state, like Keras' cells."""
    masks = []
    for shape, rate in (
        (input_shape, getattr(cell, "dropout", 0)),
        (state_shape, getattr(cell, "recurrent_dropout", 0)),
    ):
        count = getattr(cell, "dropout_mask_count", None)
        ones = ops.ones(shape, cell.compute_dtype)
        drawn = [
            keras.random.dropout(ones, rate, seed=own_seed(cell.seed_generator))
            for _ in range((count or 1) if rate else 0)
        ]
        masks.append((drawn if count else drawn[0]) if drawn else None)
    return tuple(masks)


def _let_draw(cell, input_shape, state_shape):
    """Make a cell draw and keep its masks, because a loop cannot draw them."""
    x = ops.zeros(input_shape, cell.compute_dtype)
    state = ops.zeros(state_shape, cell.compute_dtype)
    with _one_thread():
        cell.get_dropout_mask(x)
        cell.get_recurrent_dropout_mask(state)


def _one_thread():
    """Let one thread at a time use dropout rates.

    Replicas take turns anyway, and may wait for each other inside a cell.
    """
    _, count = backend.replica()
    return RATES if count == 1 else contextlib.nullcontext()


@contextlib.contextmanager
def _no_rates(cell):
    """Set dropout rates to 0 temporarily."""
    rates = cell.dropout, cell.recurrent_dropout
    try:
        cell.dropout = cell.recurrent_dropout = 0.0
        yield
    finally:
        cell.dropout, cell.recurrent_dropout = rates
