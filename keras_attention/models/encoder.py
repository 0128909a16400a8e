"""A stack of recurrent layers that returns its sequence and its states."""

import itertools

import keras

from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import check_features
from keras_attention.attention.memory import check_sequence
from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.checks import shapes_agree
from keras_attention.decoder import LayerNormLSTMCell
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.stack import run_cells
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import AbstractDenseLayer
from keras_attention.layers import AbstractPartMaker
from keras_attention.layers import Dropout
from keras_attention.layers import call_masked
from keras_attention.layers import carried_mask
from keras_attention.layers import directions
from keras_attention.layers import reversed_by
from keras_attention.layers import sublayers

LAYERS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}
MOST = 1000  # layers
CELLS = {"layer_norm_lstm": LayerNormLSTMCell}


@keras.saving.register_keras_serializable(package="keras_attention")
class RecurrentEncoder(
    AbstractConfigured, AbstractPartMaker, AbstractDenseLayer
):
    """Encodes a sequence with a stack of LSTM or GRU layers.

    Each layer reads the outputs of the layer below, from both directions if it
    is bidirectional. Masked steps do not change the states, so the returned
    states are those after the last valid step. With `residual`, every layer
    except the first adds its inputs to its outputs, before dropout, so that
    deep stacks can be trained; the states are not affected. With
    `append_inputs`, attention reads the embedded tokens together with the
    outputs of the encoder, which helps with rare words. `LexicalTranslation`
    serves the same purpose.

    Without a GPU, two faster methods replace the Keras layers, with the same
    results. On torch, an LSTM or a GRU runs in torch's kernel for whole
    sequences, in training and inference. This requires that no position before
    the last valid position is masked. Otherwise, training on TensorFlow or
    torch runs the cells in the fast loop of `AttentionDecoder`. On TensorFlow,
    this loop supports only first derivatives; with `training=False`, all
    derivatives are available.

    Args:
        units: Units of each layer, in each direction.
        depth: Number of layers. Defaults to `1`.
        cell: `"lstm"`, `"gru"`, or `"layer_norm_lstm"`, a
            `LayerNormLSTMCell`. Defaults to `"lstm"`.
        bidirectional: Whether every layer runs in both directions. Defaults
            to `True`.
        dropout: Rate at which the inputs of every layer are dropped in
            training. Defaults to `0.0`.
        residual: Whether every layer except the first adds its inputs to its
            outputs. Defaults to `False`.
        recurrent_dropout: Rate at which states are dropped in training, with
            one mask per sequence. Defaults to `0.0`.
        append_inputs: Whether to append the input at every position to the
            output at this position. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        sequence: `(B, Tv, D)`.
        mask: Boolean `(B, Tv)`, `True` at valid positions. Keras fills it in
            when the sequence carries one.
        training: Whether to apply dropout.

    Returns:
        sequence: `(B, Tv, F)`, where the number of features `F` is `units`, or
            `2 * units` if bidirectional. `append_inputs` adds `D` features.
        states: One output per state `(B, units)`, in the order of Keras'
            layers: `forward h, c, backward h, c` for an LSTM. With `depth > 1`,
            one list of states per layer, bottom first. `StateBridge` accepts
            both forms.

    Raises:
        ValueError: If `units` or `depth` is not positive, if `cell` is unknown,
            or if a rate is not in `[0, 1)`.

    Example:

    >>> sequence, *states = RecurrentEncoder(8)(np.ones((2, 7, 4)))
    >>> tuple(sequence.shape), len(states)
    ((2, 7, 16), 4)
    """

    pads_freely = True  # padding behind a source changes nothing before it

    def __init__(
        self,
        units: int,
        depth: int = 1,
        cell: str = "lstm",
        bidirectional: bool = True,
        dropout: float = 0.0,
        residual: bool = False,
        recurrent_dropout: float = 0.0,
        append_inputs: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice("cell", cell, (*LAYERS, *CELLS))
        self.units = check_integer("units", units)
        self.depth = check_integer("depth", depth, most=MOST)
        self.cell = cell
        self.bidirectional = bidirectional
        self.dropout = check_rate("dropout", dropout)
        self.residual = residual
        self.recurrent_dropout = check_rate(
            "recurrent_dropout", recurrent_dropout
        )
        self.append_inputs = append_inputs
        self.input_size = None
        self.supports_masking = True
        self.drop = Dropout(dropout, dtype=self.dtype_policy)
        self.layers = [self._layer(i) for i in range(depth)]
        self.stacks = [  # for both directions of each layer
            [CellStack(one.cell) for one in directions(layer)]
            for layer in self.layers
        ]
        self.trainable = self.trainable  # of all parts

    def made_parts(self) -> dict:
        parts = {}
        for layer in self.layers:
            for part in (layer, *directions(layer)):
                parts[part.name] = part
            for one in directions(layer):
                parts[f"{one.name}/cell"] = one.cell
                if isinstance(one.cell, AbstractPartMaker):
                    own = one.cell.made_parts().items()
                    parts |= {f"{one.name}/{name}": x for name, x in own}
        return parts

    def _layer(self, i):
        policy = {"dtype": self.dtype_policy}
        own = {"recurrent_dropout": self.recurrent_dropout, **policy}
        options = {"return_sequences": True, "return_state": True}
        options["name"] = f"{self.cell}_{i}"
        if self.cell in LAYERS:
            layer = LAYERS[self.cell](self.units, **own, **options)
        else:
            cell = CELLS[self.cell](self.units, **own)
            layer = keras.layers.RNN(cell, **policy, **options)
        if self.bidirectional:
            name = f"bidirectional_{i}"
            layer = keras.layers.Bidirectional(layer, **policy, name=name)
        return layer

    def build(self, sequence_shape):
        self.input_size = sequence_shape[-1]
        width = self.units * (2 if self.bidirectional else 1)
        for layer in self.layers:
            if not layer.built:
                layer.build(sequence_shape)
            sequence_shape = (*sequence_shape[:-1], width)

    def call(self, sequence, mask=None, training: bool | None = None) -> tuple:
        given = "sequence", sequence, "(B, T, D)", mask, "mask"
        check_sequence(self, *given, self.input_size)
        sequence, states = self._run(sequence, mask, training)
        return (sequence, *(states[0] if self.depth == 1 else states))

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, U)` each.

        Args:
            rows: Number of rows, an integer or a scalar tensor.
        """
        stacks = [stack for both in self.stacks for stack in both]
        return [x for stack in stacks for x in stack.initial_states(rows)]

    def read_on(self, sequence, mask, states) -> tuple:
        """Read a part of a source, starting from the given states.

        Args:
            sequence: `(B, n, D)`, with at least one position.
            mask: Boolean `(B, n)`, `True` at valid positions. The other
                positions do not change the states.
            states: Flat list of the states of all layers after the previous
                part, `(B, U)`.

        Returns:
            Outputs `(B, n, Dv)`, the mask, and the next states.
        """
        sequence, states = self._run(sequence, mask, False, iter(states))
        return sequence, mask, [x for own in states for x in own]

    def _run(self, sequence, mask, training, given=None):
        """Run all layers, from their initial states or from given states."""
        states, inputs = [], sequence
        for i in range(len(self.layers)):
            x = self.drop(sequence, training=training)
            outputs, own = self._run_layer(i, x, mask, training, given)
            sequence = sequence + outputs if self.residual and i else outputs
            states.append(own)
        if self.append_inputs:
            inputs = ops.cast(inputs, sequence.dtype)
            sequence = ops.concatenate([sequence, inputs], axis=-1)
        return sequence, states

    def _run_layer(self, i, sequence, mask, training, given):
        """Run a layer with the fastest method; all give the same results."""
        layer = self.layers[i]
        if given is None and not (training and self.recurrent_dropout):
            found = self._run_packed(layer, sequence, mask)
            if found is not None:
                return found
        # Inference is no faster by our loop, and a GPU has cuDNN. Keras'
        # layers need a row and a step.
        ours = given is not None or 0 in tuple(sequence.shape[:2])
        if ours or (training and backend.outruns_keras_layers()):
            return self._run_cells(i, sequence, mask, training, given)
        outputs, *own = call_masked(layer, sequence, mask, training)
        return outputs, own

    def _run_packed(self, layer, sequence, mask):
        """Run a layer with a kernel for whole sequences, if there is one."""
        if not backend.has_packed_kernels or self.cell not in LAYERS:
            return None
        dtype, both = layer.compute_dtype, directions(layer)
        weights = [
            [ops.cast(x, dtype) for x in (c.kernel, c.recurrent_kernel, c.bias)]
            for c in (one.cell for one in both)
        ]
        return backend.run_packed(
            self.cell,
            weights,
            ops.cast(sequence, dtype),
            as_mask(mask),
            repeats=not both[0].zero_output_for_mask,
        )

    def _run_cells(self, i, sequence, mask, training, given):
        """Run the cells of a layer, from the next given states."""
        layer = self.layers[i]
        sequence = ops.cast(sequence, layer.compute_dtype)
        sequence = ops.swapaxes(sequence, 0, 1)  # (T, B, D)
        real = None if mask is None else ops.swapaxes(as_mask(mask), 0, 1)
        outputs, after = [], []
        for one, stack in zip(directions(layer), self.stacks[i], strict=True):
            before = None
            if given is not None:
                before = [*itertools.islice(given, len(stack.state_sizes))]
            y, states = run_cells(
                stack,
                sequence,
                real,
                before,
                training,
                one.go_backwards,
                not one.zero_output_for_mask,
            )
            outputs.append(y)
            after.extend(states)
        outputs = ops.concatenate(outputs, axis=-1)
        return ops.swapaxes(outputs, 0, 1), after

    def compute_output_shape(self, sequence_shape) -> tuple:
        check_features(self, "sequence", sequence_shape, self.input_size)
        batch, steps, features = sequence_shape
        directions = 2 if self.bidirectional else 1
        count = directions * (1 if self.cell == "gru" else 2)
        size = directions * self.units
        size += features if self.append_inputs else 0
        states = [[(batch, self.units)] * count for _ in range(self.depth)]
        states = states[0] if self.depth == 1 else states
        return ((batch, steps, size), *states)

    def compute_mask(self, sequence, previous_mask=None):
        return previous_mask


def encode(encoder, source, mask, training: bool | None) -> tuple:
    """Run an encoder of any kind.

    Args:
        encoder: A layer or a model.
        source: What it reads, `(B, Tv, D)`.
        mask: The mask `(B, Tv)` of the source, or `None`.
        training: Whether it is trained.

    Returns:
        What it returned: a memory `(B, n, Dv)` in the order of its mask, a
        list of states, and the mask `(B, n)` or `None`.

    Raises:
        ValueError: If it cannot read any length, or changes the length and
            returns no mask.
    """
    _check_steps(encoder, source)
    encoded = call_masked(encoder, source, mask, training)
    several = isinstance(encoded, tuple | list)
    memory, *states = encoded if several else [encoded]
    carried = carried_mask(memory)
    if reversed_by(encoder) is not None:
        memory = ops.flip(memory, axis=1)  # back into the order of a mask
    mask = mask if carried is None else carried
    _check_length(encoder, source, memory, mask)
    return memory, states, mask


def _check_steps(encoder, source):
    """Refuse what Keras cannot run over steps of which a graph has no number.

    `TimeDistributed` of Keras 3.15 then runs as many steps as there are rows.
    """
    if isinstance(source, keras.KerasTensor) or source.shape[1] is not None:
        return
    wrong = [
        part
        for part in sublayers(encoder)
        if isinstance(part, keras.layers.TimeDistributed)
    ]
    if wrong:
        raise ValueError(
            "Seq2Seq needs an encoder that reads sources of any length. "
            f"Received: encoder with {wrong[0].name!r}, a TimeDistributed of "
            f"{type(wrong[0].layer).__name__}, which miscounts steps in a "
            "graph. Omit TimeDistributed if the layer processes each step "
            "separately, like Dense, or merge rows and steps with "
            "`ops.reshape` around it."
        )


def check_states(encoder, states):
    """Check that an encoder returned states for the bridge.

    Raises:
        ValueError: If there are no states.
    """
    if not states:
        raise ValueError(
            "Seq2Seq with a bridge needs an encoder that returns `sequence, "
            f"*states`. Received: {type(encoder).__name__} `{encoder.name}`, "
            "which returns no states. Use return_state=True, or bridge=None."
        )


def _check_length(encoder, source, memory, mask):
    """Refuse another length of a memory than that of its mask."""
    if mask is None or shapes_agree(memory.shape[1:2], mask.shape[1:2]):
        return
    raise ValueError(
        "Seq2Seq needs an encoder that keeps the length of its source or "
        f"returns a mask for its output. Received: {type(encoder).__name__} "
        f"`{encoder.name}`, {memory.shape[1]} positions of {source.shape[1]}, "
        f"with a mask of {mask.shape[1]}. Wrap it in a layer with "
        "`supports_masking = True` and a `compute_mask` for its outputs."
    )
