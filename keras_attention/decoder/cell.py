"""The step of an attentional decoder, for training and for search."""

import contextlib
import math
from collections.abc import Callable
from typing import NamedTuple

import keras
from keras import tree

from keras_attention.attention import AbstractAttention
from keras_attention.attention.memory import with_features
from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_size
from keras_attention.decoder.attentions import Attentions
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.window import check_window
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import cast
from keras_attention.ops import product

ORDERS = ("bahdanau", "luong")
OUTPUTS = ("auto", "cell", "attention", "concat")
NO_RNN = (
    "keras.layers.RNN cannot run AttentionDecoderCell, because it does not "
    "pass the memory. Use AttentionDecoder(cell) instead."
)
BUILD = "Call or build its AttentionDecoder first."


class StateLayout(NamedTuple):
    """The order of a decoder's flat list of states, and their sizes.

    Attributes:
        cell_sizes: Sizes of the cells' states, bottom first.
        fed_size: Size of the vector that is fed back, or 0.
        attention_count: Total number of states of all attentions.
    """

    cell_sizes: list[int]
    fed_size: int
    attention_count: int

    @property
    def sizes(self) -> list[int]:
        """Sizes of all states except those of the attentions."""
        return [*self.cell_sizes, *([self.fed_size] if self.fed_size else [])]

    @property
    def count(self) -> int:
        """Number of all states."""
        return len(self.sizes) + self.attention_count

    def split(self, states: list) -> tuple[list, list, list]:
        """Split the flat list into its parts.

        Args:
            states: The flat list.

        Returns:
            Lists of the cells' states, of the vector that is fed back (empty
            if there is none), and of the attentions' states.

        Raises:
            ValueError: If there are too few or too many states.
        """
        own, fed = len(self.cell_sizes), len(self.sizes)
        if len(states) != self.count:
            raise ValueError(
                f"A step needs {self.count} states. Received: {len(states)} "
                "states. `initial_state` returns the states before the first "
                "step."
            )
        return states[:own], states[own:fed], states[fed:]

    def check(self, states: list) -> None:
        """Check a flat list of initial states.

        Args:
            states: Flat list of the cells' states, or of all states.

        Raises:
            ValueError: If there are too few or too many states, or if a size
                does not match.
        """
        sizes, own = [x.shape[-1] for x in states], len(self.cell_sizes)
        same = all(x == y for x, y in zip(sizes, self.sizes, strict=False))
        if len(states) not in (own, self.count) or not same:
            raise ValueError(
                f"The decoder needs {own} initial states of its cells, with "
                f"sizes {self.cell_sizes}, or all {self.count} states that an "
                "earlier call returned. Received: initial states of sizes "
                f"{sizes}. StateBridge(units={self.cell_sizes[-1]}) maps an "
                "encoder's states to these."
            )


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionDecoderCell(AbstractKernelLayer):
    """Runs recurrent cells and attention for one step of a decoder.

    Formula:

        "bahdanau": c_i = attend(s_{i-1}), s_i = f([y_{i-1}; c_i], s_{i-1})
        "luong": s_i = f([y_{i-1}; h_{i-1}], s_{i-1}), c_i = attend(s_i)
        attentional vector: h_i = c_i, or tanh([s_i; c_i] W) with a layer size

    With the order `"bahdanau"`, the query is the previous state of the top
    cell; for an LSTM cell, this is its hidden state, without its cell state
    (carry). With the order `"luong"`, the query is the new output of the top
    cell, and with `input_feeding` the attentional vector is an input of the
    next step. `AttentionDecoder` runs this cell in training, and a search runs
    it in inference. Both pass one flat list of states from step to step: the
    states of the cells, bottom first; the attentional vector, if it is fed
    back; and the states of the attention layers.

    With an `attention_window`, a step in inference attends only to a window of
    positions. The position with the largest weight in the previous step is its
    center: it extends `before` positions to the left of the center, and `after`
    to the right. In the first step, the center is the first position. Use a
    window for long sources that are read from left to right. For Bahdanau,
    Luong (general and dot), cosine, kernel, location-aware, dynamic convolution
    and coverage attention, and `MultiHead` of these, the time of a step is then
    independent of the source length, if the alignment is softmax, sparsemax or
    entmax15. In all other cases, a step scores all positions of the source, and
    then masks those outside the window.

    In `step`, `inputs` may be `(B, K, D)`; every state is then `(B, K, ...)`,
    and the `K` parallel hypotheses of a source share its memory.

    Args:
        cell: A Keras RNN cell, or a list of them, bottom first.
        attention: An attention layer; a list of them, whose contexts are
            concatenated; or `None` for a decoder without attention.
        order: `"bahdanau"` or `"luong"`. Defaults to `"bahdanau"`.
        input_feeding: Whether the attentional vector is an input of the next
            step. Applies only to the order `"luong"`. Defaults to `True`.
        attention_layer_size: Size of the attentional layer, or `None` for no
            attentional layer. Defaults to `None`.
        attention_activation: Activation of the attentional layer. Defaults to
            `"tanh"`.
        attention_use_bias: Whether the attentional layer has a bias. Defaults
            to `False`.
        output: Output of a step: `"cell"` (s), `"attention"` (h), `"concat"`
            ([s; c]), or `"auto"`: the attentional vector if there is an
            attentional layer, else `[s; c]`. Defaults to `"auto"`.
        kernel_initializer: Initializer of the attentional layer's kernel.
            Defaults to `"glorot_uniform"`.
        kernel_regularizer: Regularizer of that kernel. Defaults to `None`.
        kernel_constraint: Constraint of that kernel. Defaults to `None`.
        residual: Whether every cell of a stack except the bottom one adds its
            inputs to its outputs. This requires cells of the same size. With
            the order `"bahdanau"`, the query is the state of the top cell, to
            which no inputs are added. Defaults to `False`.
        attention_window: Pair `(before, after)`: in inference, attend to at
            most this many positions before and after the position with the
            largest weight in the previous step. Defaults to `None`, which
            attends to all positions.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: `(B, D)`.
        states: Flat list that `initial_state` or the previous step returned.
        memory: What `prepare` returned.
        training: Whether to apply dropout.
        noise: Random numbers of the attention layers for this step, such as
            dropout masks: one step of the result of `draw_noise`, or `None`.

    Returns:
        output: `(B, size)`.
        states: Flat list of the next states.

    Raises:
        ValueError: If an argument has an invalid value or conflicts with
            another argument; in `step`, if states or memory do not match.

    Example:

    >>> cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    >>> cell.build((None, 4), (None, None, 12))
    >>> memory = cell.prepare(np.ones((2, 7, 12)))
    >>> states = cell.initial_state(memory)
    >>> output, weights, states = cell.step(np.ones((2, 4)), states, memory)
    >>> tuple(output.shape), tuple(weights.shape)
    ((2, 28), (2, 7))

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), section 3.1;
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 5 and
        section 3.3.
    """

    def __init__(
        self,
        cell: keras.layers.Layer | list,
        attention: AbstractAttention | list | None,
        order: str = "bahdanau",
        input_feeding: bool = True,
        attention_layer_size: int | None = None,
        attention_activation: str | Callable | None = "tanh",
        attention_use_bias: bool = False,
        output: str = "auto",
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        residual: bool = False,
        attention_window: tuple[int, int] | None = None,
        **kwargs,
    ):
        super().__init__(
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        self.cell, self.cells = cell, CellStack(cell, residual)
        self.attention_window = check_window(attention_window, attention)
        self.attention = attention
        self.attentions = Attentions(attention, self.attention_window)
        self._check_arguments(
            order, input_feeding, attention_layer_size, output
        )
        self.order = order
        self.input_feeding = input_feeding
        self.attention_layer_size = attention_layer_size
        self.attention_activation = keras.activations.get(attention_activation)
        self.attention_use_bias = attention_use_bias
        self.residual = residual
        self._output = output  # `output` is a property of Keras layers
        self.attention_kernel = self.attention_bias = None

    def _check_arguments(self, order, input_feeding, size, output):
        """Check that arguments are valid and do not conflict."""
        check_choice("order", order, ORDERS)
        check_choice("output", output, OUTPUTS)
        check_size("attention_layer_size", size)
        if order == "bahdanau" and not input_feeding:
            raise ValueError(
                "`input_feeding` applies only to order='luong'; with "
                "order='bahdanau', the context is always an input of the step. "
                "Received: input_feeding=False. Omit it, or change `order`."
            )
        if not self.attentions and (output in OUTPUTS[2:] or size):
            raise ValueError(
                "`output` and `attention_layer_size` need attention: without "
                f"it, the output is the state. Received: output={output!r}, "
                f"attention_layer_size={size} with attention=None. Pass an "
                "attention layer, or omit both."
            )

    @property
    def state_size(self):
        """Raise an error in `keras.layers.RNN`, which reads this first."""
        raise ValueError(NO_RNN)

    def build(self, inputs_shape, memory_shape=None):
        size = self.cells.output_size
        top = self.cells.query_size if self.order == "bahdanau" else size
        context_size = self.attentions.build(top, memory_shape)
        units = self.attention_layer_size
        attentional_size = units or context_size
        if units:
            shape = size + context_size, units
            self.attention_kernel = self.add_kernel("attention_kernel", shape)
        if units and self.attention_use_bias:
            self.attention_bias = self.add_bias("attention_bias", units)
        self.output_size = {
            "cell": size,
            "attention": attentional_size,
            "concat": size + context_size,
        }[self._resolved_output()]
        fed = attentional_size if self.feeds_back else 0
        before = context_size if self.order == "bahdanau" else fed
        self.input_size = inputs_shape[-1]
        self.cell_input_size = self.input_size + before
        self.cells.build(self.cell_input_size)
        count = self.attentions.state_count
        self.state_layout = StateLayout(self.cells.state_sizes, fed, count)

    def _resolved_output(self):
        if not self.attentions:
            return "cell"
        if self._output != "auto":
            return self._output
        return "concat" if self.attention_layer_size is None else "attention"

    @property
    def feeds_back(self) -> bool:
        """Whether the attentional vector is one of the states."""
        wanted = self.order == "luong" and self.input_feeding
        return wanted and bool(self.attentions)

    @property
    def attends_afterwards(self) -> bool:
        """Whether attention can run once, after the loop."""
        alone = self.order == "luong" and not self.input_feeding
        stateless = not self.attentions.state_count
        return alone and bool(self.attentions) and stateless

    def prepare(self, value, value_mask=None) -> tuple | list | None:
        """Prepare a source, once for all steps.

        Args:
            value: The encoder's outputs `(B, Tv, Dv)`; `None` for a cell
                without attention.
            value_mask: Boolean `(B, Tv)`, `True` at valid positions, or `None`.

        Returns:
            A `Memory`; a list of them for several attentions; `None` without
            attention.
        """
        return self.attentions.pack(self.attentions.prepare(value, value_mask))

    def initial_state(
        self, memory, cell_states=None, beams: int | None = None
    ) -> list:
        """Return the flat list of states before the first step.

        Args:
            memory: What `prepare` returned.
            cell_states: States of the cells `(B, U)`, flat or nested; or all
                states returned by an earlier step. Defaults to the cells' own
                initial states.
            beams: The number `K` of parallel hypotheses. Defaults to `None`,
                no such axis.

        Returns:
            A list of tensors `(B, ...)`, or `(B, K, ...)` with beams.
        """
        memories = self.attentions.as_memories(memory)
        if cell_states is None and not memories:
            raise ValueError(
                "Without attention, a cell needs `cell_states` to determine "
                "the batch size. Received: cell_states=None"
            )
        rows = ops.shape(memories[0].values)[0] if memories else None
        return self.first_states(memories, rows, cell_states, beams)

    def first_states(
        self, memories: list, rows, cell_states=None, beams: int | None = None
    ) -> list:
        """Return the result of `initial_state`, for a list of memories.

        Args:
            memories: List with a `Memory` for each attention.
            rows: Number `B` of rows, if `cell_states` is `None`.
            cell_states: As in `initial_state`.
            beams: As in `initial_state`.
        """
        if cell_states is None:
            cell_states = self.cells.initial_states(rows)

        def spread(x):
            x = ops.convert_to_tensor(x)
            if beams is None or len(x.shape) > 2:
                return x
            return ops.repeat(ops.expand_dims(x, 1), beams, axis=1)

        states = [spread(x) for x in tree.flatten(cell_states)]
        layout, dtype = self.state_layout, self.compute_dtype
        layout.check(states)
        rest = self.attentions.initial_states(memories, beams)
        if len(states) < layout.count:  # those of the cells alone
            fed = [
                ops.zeros((*ops.shape(states[0])[:-1], size), dtype)
                for size in layout.sizes[len(states) :]
            ]
            states = [*states, *fed, *rest]
        dtypes = [dtype] * len(layout.sizes) + [x.dtype for x in rest]
        return [ops.cast(x, d) for x, d in zip(states, dtypes, strict=True)]

    def state_specs(
        self, batch: int | None, memory, initial_state=None
    ) -> list:
        """Return shapes and dtypes of the flat list of states.

        Args:
            batch: Number of rows, or `None` if it is unknown.
            memory: Symbolic memory `(B, Tv, Dv)`, or `None`.
            initial_state: Symbolic states to check, or `None`.

        Returns:
            List of `keras.KerasTensor`s `(B, ...)`.
        """
        layout = self.state_layout
        if initial_state is not None:
            layout.check(tree.flatten(initial_state))
        states = [
            keras.KerasTensor((batch, size), self.compute_dtype)
            for size in layout.sizes
        ]
        return [*states, *self.attentions.state_specs(memory)]

    def draw_noise(self, memory, steps: int, beams: int | None = None):
        """Draw the attentions' dropout masks and noise for all training steps.

        Args:
            memory: What `prepare` returned.
            steps: Number of steps, an integer or a scalar tensor.
            beams: The number `K` of parallel hypotheses. Defaults to `None`,
                no such axis.

        Returns:
            A tensor with time on axis 0, of which `step` takes one slice as
            its `noise`; a list of them for several attentions; `None` if
            nothing is random.
        """
        memories = self.attentions.as_memories(memory)
        noise = self.attentions.draw_noise(memories, steps, beams)
        return self.attentions.pack(noise)

    def dropout_masks(self, rows, training: bool | None = None):
        """Draw the dropout masks of the recurrent cells, for all steps.

        Args:
            rows: Number of rows: `B`, or `B * K` with beams.
            training: Whether to draw masks. Defaults to `None`, no masks.

        Returns:
            A context manager that yields the `masks` for `step`, or `None`.
        """
        return self.cells.dropout_masks(rows, self.cell_input_size, training)

    def step(
        self,
        inputs,
        states,
        memory=None,
        training: bool | None = None,
        noise=None,
        masks=None,
    ) -> tuple:
        """Run one step, and return its output, attention weights and states.

        Args:
            inputs: `(B, D)`, or `(B, K, D)` with beams.
            states: Flat list that `initial_state` or the previous step
                returned.
            memory: What `prepare` returned.
            training: Whether to apply dropout.
            noise: The slice for this step of what `draw_noise` returned, or
                `None`.
            masks: What `dropout_masks` yielded. Defaults to masks drawn only
                for this step.

        Returns:
            The output `(B, size)`; the weights `(B, Tv)`, a list of them for
            several attentions, or `None` without attention; and the next
            states. All have
            an axis `K` after `B` if `inputs` has one.
        """
        check_built(self, "step", BUILD)
        projected = self.project_inputs(inputs, training)
        memories = self.attentions.as_memories(memory)
        noise = self.attentions.unpack(noise)
        drawn = contextlib.nullcontext(masks)
        if training and masks is None:
            rows = math.prod(ops.shape(projected)[:-1])
            drawn = self.dropout_masks(rows, training)
        with drawn as masks:
            output, weights, states = self.advance(
                projected, states, memories, noise, training, masks
            )
        return output, self.attentions.pack(weights), states

    def project_inputs(self, inputs, training: bool | None = None):
        """Precompute the input projection of one step, or of all steps.

        Args:
            inputs: `(..., D)`.
            training: Whether to apply dropout.

        Returns:
            The input of `advance`, `(..., size)`.
        """
        x = with_features(self, "inputs", self._float(inputs), self.input_size)
        return self.cells.project_inputs(x, training)

    def advance(
        self,
        projected,
        states,
        memories: list,
        noise: list,
        training: bool | None = None,
        masks=None,
    ) -> tuple:
        """Run one step, like `step`, from projected inputs.

        Args:
            projected: What `project_inputs` returned for this step.
            states: As in `step`.
            memories: List with a `Memory` for each attention.
            noise: List with the noise of each attention, or `None`s.
            training: As in `step`.
            masks: What `dropout_masks` yielded, or `None`.

        Returns:
            Output, list of weights, and next states, as in `step`.
        """
        own, fed, rest = self.state_layout.split(list(states))
        given = memories, rest, noise, training
        attend = self.attentions.attend
        if self.order == "bahdanau":
            query = self._float(self.cells.top_state(own))
            contexts, weights, rest = attend(query, *given)
            s, own = self.recur(projected, own, contexts, training, masks)
        else:
            s, own = self.recur(projected, own, fed, training, masks)
            contexts, weights, rest = attend(self._float(s), *given)
        output, attentional = self.join(s, contexts)
        fed = [self._float(attentional)] if self.feeds_back else []
        return output, weights, [*own, *fed, *rest]

    def recur(self, projected, states, fed=(), training=None, masks=None):
        """Run the recurrent cells on rows, one for each hypothesis.

        Args:
            projected: What `project_inputs` returned for this step.
            states: Flat list of the cells' states, `(B, U)`.
            fed: List of further inputs: the contexts or the attentional vector.
            training: As in `step`.
            masks: As in `advance`.

        Returns:
            The output of the top cell `(B, U)`, and the next states.
        """
        beams = ops.shape(projected)[1:-1]

        def rows(x):
            return ops.reshape(x, (-1, x.shape[-1])) if beams else x

        fed = rows(_beside(fed)) if fed else None
        states = [rows(self._float(x)) for x in states]
        s, states = self.cells.run(
            rows(projected), states, fed, training, masks
        )
        if beams:
            s, *states = [
                ops.reshape(x, (-1, *beams, x.shape[-1])) for x in [s, *states]
            ]
        return s, [self._float(x) for x in states]

    def join(self, s, contexts: list):
        """Combine the state and the contexts to the output.

        Args:
            s: Output of the top cell, `(..., U)`.
            contexts: List with a context `(..., Dv)` of each attention.

        Returns:
            The output `(..., size)`, and the attentional vector `(..., A)`, or
            `None` without a context.
        """
        if not contexts:
            return self._float(s), None
        output, both = self._resolved_output(), None
        attentional = _beside(contexts)
        if self.attention_kernel is not None or output == "concat":
            both = _beside([s, attentional])
        if self.attention_kernel is not None:
            attentional = product(both, self.attention_kernel)
            if self.attention_bias is not None:
                bias = ops.cast(self.attention_bias, attentional.dtype)
                attentional = attentional + bias
            attentional = self.attention_activation(attentional)
        outputs = {"cell": s, "attention": attentional, "concat": both}
        return self._float(outputs[output]), attentional

    def call(self, inputs, states, memory=None, training=None, noise=None):
        output, _, states = self.step(inputs, states, memory, training, noise)
        return output, states

    def compute_output_shape(self, inputs_shape, states_shape, **kwargs):
        shapes = [tuple(shape) for shape in states_shape]
        return (*inputs_shape[:-1], self.output_size), shapes

    def compute_output_spec(self, *args, **kwargs):
        # States of attentions have dtypes of their own: trace the call.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def _float(self, x):
        return cast(x, self.compute_dtype)

    def get_config(self) -> dict:
        own = {
            "output": self._output,
            "attention_window": self.attention_window,
        }
        return {**super().get_config(), **own}


def _beside(features):
    """Concatenate features, if there is more than one."""
    features = list(features)
    return features[0] if len(features) == 1 else ops.concatenate(features, -1)
