"""The loop over a sequence: an attentional decoder, trained by teacher."""

import keras
from keras import ops
from keras import tree

from keras_attention.decoder import attentions as joint
from keras_attention.decoder import stack
from keras_attention.decoder.cell import AttentionDecoderCell
from keras_attention.layers.masks import carried_mask
from keras_attention.ops import freeze
from keras_attention.ops import keep_real
from keras_attention.ops import last_real
from keras_attention.ops import one_by_one
from keras_attention.ops import trainable_loop


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionDecoder(keras.layers.Layer):
    """Runs an `AttentionDecoderCell` over a sequence of known inputs.

    The source's keys are projected once, before the loop. At a masked step
    all states stay as they are, and outputs and weights are 0. A mask given
    explicitly wins over the one that Keras carries along. Attentions with a
    `coverage_loss` have it added, over real steps.

    Args:
        cell: An `AttentionDecoderCell`.
        return_sequences: Whether to return the outputs of all steps, or that
            of the last real step. Defaults to `True`.
        return_state: Whether to return the last states as well. Defaults to
            `False`.
        return_attention_scores: Whether to return the weights of all steps as
            well. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        sequence: Inputs `(B, T, D)`, such as embedded words.
        memory: The encoder's outputs `(B, Tv, Dv)`; `None` for a cell without
            attention.
        initial_state: States to start from: those of the cells, flat or
            nested, or all that an earlier call returned, which continues its
            sequence. Defaults to the cells' own initial states.
        sequence_mask: Boolean `(B, T)`, `True` at real steps.
        memory_mask: Boolean `(B, Tv)`, `True` at real positions.
        training: Whether to apply dropout.
        return_attention_scores: As the argument of that name, for this call.

    Returns:
        outputs: `(B, T, size)`, or `(B, size)` without `return_sequences`.
        weights: `(B, T, Tv)`, on request; a list of them if the cell has
            several attentions.
        states: On request, each as one more output: those of the cells,
            bottom first; the vector that is fed back, if one is; those of the
            attentions.

    Raises:
        ValueError: If `cell` is no `AttentionDecoderCell`, if it attends and
            there is no memory, or if the initial states do not fit.

    Example:

    >>> cell = AttentionDecoderCell(LSTMCell(16), BahdanauAttention(16))
    >>> decoder = AttentionDecoder(cell)
    >>> tuple(decoder(np.ones((2, 5, 8)), np.ones((2, 7, 12))).shape)
    (2, 5, 28)
    """

    def __init__(
        self,
        cell,
        return_sequences: bool = True,
        return_state: bool = False,
        return_attention_scores: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(cell, AttentionDecoderCell):
            raise ValueError(
                "AttentionDecoder needs an AttentionDecoderCell, which knows "
                f"how to attend. Received: cell={cell}. Wrap it: "
                "AttentionDecoderCell(cell, attention)."
            )
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
        training=None,
        return_attention_scores=None,
    ):
        if sequence_mask is None:
            # Keras fills no mask of that name beside a single tensor.
            sequence_mask = carried_mask(sequence)
        prepared = self.cell.prepare(memory, memory_mask)
        if initial_state is None:
            initial_state = stack.initial_states(
                self.cell.cells, ops.shape(sequence)[0]
            )
        states = self.cell.initial_state(prepared, initial_state)
        outputs, weights, states = self._run(
            sequence, prepared, states, sequence_mask, training
        )
        for attention, found in zip(self.cell.attentions, weights, strict=True):
            loss = attention.weights_loss(found, sequence_mask)
            if loss is not None:
                self.add_loss(loss)
        if not self.return_sequences:
            outputs = last_real(outputs, sequence_mask)
        return self._pick(outputs, weights, states, return_attention_scores)

    def _run(self, sequence, memory, states, mask, training):
        """Loop over time; results with the batch on axis 0."""
        mask = None if mask is None else ops.cast(mask, "bool")
        sequence = ops.swapaxes(keep_real(sequence, mask), 0, 1)  # (T, B, D)
        noise = None
        if training:
            noise = self.cell.draw_noise(memory, ops.shape(sequence)[0])
        arguments = sequence, memory, states, mask, noise, training
        if self.cell.attends_afterwards:
            return self._attend_afterwards(*arguments)
        return self._attend_in_steps(*arguments)

    def _attend_in_steps(self, sequence, memory, states, mask, noise, training):
        def step(states, inputs, memory):
            read, noise = inputs
            output, weights, states = self.cell.advance(
                read, states, memory, training=training, noise=noise
            )
            unpacked = joint.unpack(self.cell.attentions, weights)
            return states, [output, *unpacked]

        memories = joint.as_memories(self.cell.attentions, memory)
        words = [ops.shape(one.values)[1] for one in memories]
        (outputs, *weights), states = self._loop(
            step,
            states,
            sequence,
            mask,
            [self.cell.output_size, *words],
            training,
            noise,
            memory,
        )
        return outputs, weights, states

    def _attend_afterwards(
        self, sequence, memory, states, mask, noise, training
    ):
        def step(states, inputs, _):
            s, states = self.cell.recur(inputs[0], states, training)
            return states, [s]

        size = stack.output_size(self.cell.cells[-1])
        (s,), states = self._loop(
            step, states, sequence, mask, [size], training
        )
        noise = tree.map_structure(
            lambda x: None if x is None else ops.swapaxes(x, 0, 1), noise
        )
        with one_by_one(training):
            outputs, weights = self.cell.attend_to(memory, s, noise)
        outputs, *weights = [keep_real(x, mask) for x in [outputs, *weights]]
        return outputs, weights, states

    def _loop(
        self,
        step,
        states,
        sequence,
        mask,
        sizes,
        training,
        noise=None,
        memory=None,
    ):
        """Run a step over time: what it gives `(B, T, size)`; the states."""
        steps, batch = ops.shape(sequence)[:2]
        dtype = self.cell.compute_dtype
        blank = [ops.zeros((batch, size), dtype) for size in sizes]

        def kept(states, inputs, memory):
            *inputs, keep = inputs
            after, given = step(states, inputs, memory)
            after = [
                ops.cast(x, y.dtype) for x, y in zip(after, states, strict=True)
            ]
            return freeze(keep, after, states), freeze(keep, given, blank)

        mask = None if mask is None else ops.swapaxes(mask, 0, 1)
        first = ops.zeros(ops.shape(sequence)[1:], self.compute_dtype)
        with self.cell.dropout_masks(first, states, training):
            states, given = trainable_loop(
                kept,
                states,
                [self.cell.read(sequence, training), noise, mask],
                blank,
                steps,
                self.cell.variables,
                memory,
                training,
            )
        return [ops.swapaxes(x, 0, 1) for x in given], states

    def _pick(self, outputs, weights, states, with_weights):
        """Return what was asked for: a tensor alone, or a tuple."""
        asked = [outputs]
        if with_weights is None:
            with_weights = self.return_attention_scores
        if with_weights:
            asked.append(joint.pack(list(weights)))
        if self.return_state:
            asked.extend(states)
        return asked[0] if len(asked) == 1 else tuple(asked)

    def compute_output_spec(
        self,
        sequence,
        memory=None,
        initial_state=None,
        sequence_mask=None,
        memory_mask=None,
        training=None,
        return_attention_scores=None,
    ):
        def spec(*shape):
            return keras.KerasTensor(shape, dtype=self.cell.compute_dtype)

        joint.check_memory(self.cell.attentions, memory)
        batch, steps = sequence.shape[:2]
        time = (steps,) if self.return_sequences else ()
        layout = self.cell.state_layout
        sizes = [*layout.cell_sizes, layout.fed_size]
        states = [spec(batch, size) for size in sizes if size]
        return self._pick(
            spec(batch, *time, self.cell.output_size),
            [spec(batch, steps, memory.shape[1]) for _ in self.cell.attentions],
            [*states, *joint.state_specs(self.cell.attentions, memory)],
            return_attention_scores,
        )

    def compute_mask(self, sequence, previous_mask=None):
        return previous_mask if self.return_sequences else None

    def get_config(self):
        own = {
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "return_attention_scores": self.return_attention_scores,
        }
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        cell = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**{**config, "cell": cell})
