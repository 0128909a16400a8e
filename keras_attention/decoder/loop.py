"""The decoder over a sequence of known inputs, for teacher forcing."""

import keras

from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import check_sequence
from keras_attention.backend import ops
from keras_attention.checks import check_object
from keras_attention.decoder.cell import AttentionDecoderCell
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import AbstractDenseLayer
from keras_attention.layers import carried_mask
from keras_attention.ops import keep_real
from keras_attention.ops import last_real
from keras_attention.ops import masked_loop


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionDecoder(AbstractConfigured, AbstractDenseLayer):
    """Runs an `AttentionDecoderCell` over a sequence of known inputs.

    This layer implements teacher forcing. Keys are projected once, before the
    loop over the steps. A masked step does not change the states, and its
    outputs and attention weights are 0. If you pass a mask as an argument, it
    overrides the mask that the tensor carries. The layer computes the auxiliary
    losses of its attention layers, such as `coverage_loss`, over valid steps,
    and adds them with `add_loss`.

    Args:
        cell: An `AttentionDecoderCell`.
        return_sequences: Whether to return the outputs of all steps, or only
            the output of the last valid step. Defaults to `True`.
        return_state: Whether to return the final states as well. Defaults to
            `False`.
        return_attention_scores: Whether to return the attention weights of all
            steps as well. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        sequence: Inputs `(B, T, D)`, such as embedded tokens.
        memory: The encoder's outputs `(B, Tv, Dv)`; `None` for a cell without
            attention.
        initial_state: Initial states of the cells, flat or nested; or all
            states that an earlier call returned, to continue its sequence.
            Defaults to the cells' own initial states.
        sequence_mask: Boolean `(B, T)`, `True` at valid steps. Defaults to the
            mask that `sequence` carries.
        memory_mask: Boolean `(B, Tv)`, `True` at valid positions. Defaults to
            the mask that `memory` carries.
        training: Whether to apply dropout.
        return_attention_scores: Overrides the constructor argument for this
            call.

    Returns:
        outputs: `(B, T, size)`, or `(B, size)` without `return_sequences`.
        weights: `(B, T, Tv)`, on request; a list of them if the cell has
            several attentions.
        states: On request, one output per state: states of the cells, bottom
            first; the attentional vector, if it is fed back; and states of the
            attentions.

    Raises:
        ValueError: If `cell` is not an `AttentionDecoderCell`, if it has
            attention and there is no memory, or if shapes or initial states do
            not match.

    Example:

    >>> cell = AttentionDecoderCell(LSTMCell(16), BahdanauAttention(16))
    >>> decoder = AttentionDecoder(cell)
    >>> tuple(decoder(np.ones((2, 5, 8)), np.ones((2, 7, 12))).shape)
    (2, 5, 28)
    """

    def __init__(
        self,
        cell: AttentionDecoderCell,
        return_sequences: bool = True,
        return_state: bool = False,
        return_attention_scores: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        way_out = "Wrap a Keras cell: AttentionDecoderCell(cell, attention)."
        check_object("cell", cell, AttentionDecoderCell, way_out)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.return_attention_scores = return_attention_scores
        self.supports_masking = True

    def build(self, sequence_shape, memory_shape=None):
        if not self.cell.built:
            self.cell.build(sequence_shape, memory_shape)

    def call(
        self,
        sequence,
        memory=None,
        initial_state=None,
        sequence_mask=None,
        memory_mask=None,
        training: bool | None = None,
        return_attention_scores: bool | None = None,
    ):
        if sequence_mask is None:
            # Keras does not fill it in for a call with one tensor.
            sequence_mask = carried_mask(sequence)
        self._check(sequence, memory, sequence_mask, memory_mask)
        memories = self.cell.attentions.prepare(memory, memory_mask)
        rows = ops.shape(sequence)[0]
        states = self.cell.first_states(memories, rows, initial_state)
        outputs, weights, states = self._run(
            sequence, memories, states, as_mask(sequence_mask), training
        )
        self.cell.attentions.add_losses(self, weights, sequence_mask)
        if not self.return_sequences:
            outputs = last_real(outputs, sequence_mask)
        return self._pick(outputs, weights, states, return_attention_scores)

    def _check(self, sequence, memory, sequence_mask, memory_mask):
        """Raise a `ValueError` unless the shapes of a call match."""
        given = "sequence", sequence, "(B, T, D)", sequence_mask
        shape = check_sequence(self, *given, size=self.cell.input_size)
        attentions = self.cell.attentions
        attentions.check_source(self, memory, memory_mask, "sequence", shape)

    def _run(self, sequence, memories, states, mask, training):
        """Loop over time; return results with the batch on axis 0."""
        cell, attentions = self.cell, self.cell.attentions
        sequence = ops.swapaxes(keep_real(sequence, mask), 0, 1)  # (T, B, D)
        steps, rows = ops.shape(sequence)[:2]
        projected = cell.project_inputs(sequence, training)
        noise = [None] * len(attentions)
        if training:
            noise = attentions.draw_noise(memories, steps)
        afterwards = cell.attends_afterwards

        def step(cell, states, inputs, memories):
            projected, noise = inputs
            if afterwards:
                s, states = cell.recur(projected, states, (), training, masks)
                return states, [s]
            output, weights, states = cell.advance(
                projected, states, memories, noise, training, masks
            )
            return states, [output, *weights]

        sizes = [cell.output_size, *[ops.shape(x.values)[1] for x in memories]]
        inputs, constants = [projected, noise], memories
        if afterwards:
            sizes, inputs[1], constants = [cell.cells.output_size], None, ()
        with cell.dropout_masks(rows, training) as masks:
            states, outputs = masked_loop(
                step,
                states,
                inputs,
                None if mask is None else ops.swapaxes(mask, 0, 1),
                [ops.zeros((rows, n), cell.compute_dtype) for n in sizes],
                steps,
                cell,
                constants,
                training,
            )
        outputs, *weights = [ops.swapaxes(x, 0, 1) for x in outputs]
        if afterwards:
            outputs, weights = self._attend_afterwards(
                outputs, memories, noise, mask, training
            )
        return outputs, weights, states

    def _attend_afterwards(self, s, memories, noise, mask, training):
        """Attend with the outputs of all steps, `(B, T, U)`."""
        contexts, weights, _ = self.cell.attentions.attend(
            s,
            memories,
            [],
            [None if x is None else ops.swapaxes(x, 0, 1) for x in noise],
            training,
            one_by_one=training is not False,
        )
        outputs, _ = self.cell.join(s, contexts)
        weights = [ops.cast(x, outputs.dtype) for x in weights]
        outputs, *weights = [keep_real(x, mask) for x in [outputs, *weights]]
        return outputs, weights

    def _pick(self, outputs, weights, states, with_weights):
        """Select the requested results: one tensor, or a tuple."""
        asked = [outputs]
        if with_weights is None:
            with_weights = self.return_attention_scores
        if with_weights:
            asked.append(self.cell.attentions.pack(list(weights)))
        if self.return_state:
            asked.extend(states)
        return asked[0] if len(asked) == 1 else tuple(asked)

    def compute_output_shape(self, sequence_shape, memory_shape=None) -> tuple:
        batch, steps = sequence_shape[:2]
        time = (steps,) if self.return_sequences else ()
        return (batch, *time, self.cell.output_size)

    def compute_output_spec(
        self,
        sequence,
        memory=None,
        initial_state=None,
        sequence_mask=None,
        memory_mask=None,
        training: bool | None = None,
        return_attention_scores: bool | None = None,
    ):
        def spec(*shape):
            return keras.KerasTensor(shape, dtype=self.cell.compute_dtype)

        self._check(sequence, memory, sequence_mask, memory_mask)
        if return_attention_scores is None:
            return_attention_scores = self.return_attention_scores
        self.cell.attentions.check_asked(self, return_attention_scores)
        batch, steps = sequence.shape[:2]
        return self._pick(
            spec(*self.compute_output_shape(sequence.shape)),
            [spec(batch, steps, memory.shape[1]) for _ in self.cell.attentions],
            self.cell.state_specs(batch, memory, initial_state),
            return_attention_scores,
        )

    def compute_mask(self, sequence, previous_mask=None):
        return previous_mask if self.return_sequences else None
