"""The decoder on its own predictions, which can be of any kind."""

from collections.abc import Callable

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_function
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.checks import check_shape
from keras_attention.decoder.loop import AttentionDecoder
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import AbstractDenseLayer
from keras_attention.layers import symbolic_result
from keras_attention.ops import freeze
from keras_attention.ops import loop_over_time

Function = keras.layers.Layer | Callable
LAYER = "a layer or a registered function", "Try keras.layers.Dense(units)."


@keras.saving.register_keras_serializable(package="keras_attention")
class FreeRunningDecoder(AbstractConfigured, AbstractDenseLayer):
    """Runs an `AttentionDecoder` on its own predictions.

    Formula:

        p_t = readout(output_t)
        x_{t+1} = feed(p_t), with x_1 = first

    Predictions may be numbers, frames of a signal, or parameters of a
    distribution from which `feed` draws samples. Gradients flow through all
    steps, so that you can train the layer free-running. One model may contain
    both this layer and `decoder`, which share all weights. If you pass the
    predictions of this layer to `decoder` as inputs, it returns the same
    outputs.

    A row ends after the first step for whose prediction `stop` returns `True`.
    Its later predictions and attention weights are 0, and its states do not
    change. The layer always runs `steps` steps, so that its time does not
    depend on the data.

    `readout`, `feed` and `stop` may be layers with weights and random numbers
    of their own. The layer does not change `decoder`.

    Args:
        decoder: An `AttentionDecoder`, trained or not.
        readout: Layer or function from outputs `(B, size)` of the decoder to
            predictions `(B, P)`, such as `Dense`.
        steps: Number of steps, positive.
        feed: Layer or function from predictions `(B, P)` to the next inputs
            `(B, D)`. Defaults to `None`, which feeds back the predictions
            unchanged.
        stop: Layer or function from predictions `(B, P)` to booleans `(B,)` or
            `(B, 1)`, `True` for rows that end. Defaults to `None`: no row ends
            early.
        return_lengths: Whether to return the number of steps of each row.
            Defaults to `False`.
        return_attention_scores: Whether to return the attention weights of all
            steps. Defaults to `False`.
        return_state: Whether to return the final states. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        first: The first inputs `(B, D)`.
        memory: The encoder's outputs `(B, Tv, Dv)`; `None` for a cell without
            attention.
        initial_state: As in `AttentionDecoder`.
        memory_mask: Boolean `(B, Tv)`, `True` at valid positions. Defaults to
            the mask that `memory` carries.
        training: Whether to apply dropout.

    Returns:
        predictions: `(B, steps, P)`.
        lengths: `(B,)` int32, on request; includes the last step of each row.
        weights: `(B, steps, Tv)`, on request; a list of them if the cell has
            several attentions.
        states: On request, as in `AttentionDecoder`.

    Raises:
        ValueError: If `decoder` is not an `AttentionDecoder`, if a function is
            not callable, if `first` does not have two axes, or if the size of
            what is fed back differs from that of `first`.

    Example:

    >>> cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    >>> decoder = AttentionDecoder(cell)
    >>> layer = FreeRunningDecoder(decoder, Dense(3), steps=24)
    >>> tuple(layer(np.ones((2, 3)), np.ones((2, 7, 12))).shape)
    (2, 24, 3)

    Predict means and log standard deviations, and draw the next inputs from
    these normal distributions:

    >>> @keras.saving.register_keras_serializable("mine")
    ... class Draw(keras.layers.Layer):
    ...     def build(self, shape):
    ...         self.seed = keras.random.SeedGenerator(1)
    ...     def call(self, prediction):
    ...         mean, log_deviation = ops.split(prediction, 2, axis=-1)
    ...         noise = keras.random.normal(ops.shape(mean), seed=self.seed)
    ...         return mean + ops.exp(log_deviation) * noise
    ...     def compute_output_shape(self, shape):
    ...         return (*shape[:-1], shape[-1] // 2)
    >>> layer = FreeRunningDecoder(decoder, Dense(6), steps=24, feed=Draw())
    >>> tuple(layer(np.ones((2, 3)), np.ones((2, 7, 12))).shape)
    (2, 24, 6)
    """

    def __init__(
        self,
        decoder: AttentionDecoder,
        readout: Function,
        steps: int,
        feed: Function | None = None,
        stop: Function | None = None,
        return_lengths: bool = False,
        return_attention_scores: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        way_out = "Use AttentionDecoder(AttentionDecoderCell(cell, attention))."
        check_object("decoder", decoder, AttentionDecoder, way_out)
        self.decoder = decoder
        self.readout = check_function("readout", readout, *LAYER)
        self.steps = check_integer("steps", steps)
        self.feed = self.stop = None
        if feed is not None:
            self.feed = check_function("feed", feed, *LAYER)
        if stop is not None:
            self.stop = check_function("stop", stop, *LAYER)
        self.return_lengths = return_lengths
        self.return_attention_scores = return_attention_scores
        self.return_state = return_state
        self.supports_masking = True

    def build(self, first_shape, memory_shape=None):
        if not self.decoder.built:
            shape = (*first_shape[:-1], None, first_shape[-1])
            self.decoder.build(shape, memory_shape)
        shape = (first_shape[0], self.decoder.cell.output_size)
        shape = _build(self.readout, shape)
        fed = shape if self.feed is None else _build(self.feed, shape)
        if self.stop is not None:
            _build(self.stop, shape)
        self.size = shape[-1]
        if fed[-1] != first_shape[-1]:
            name = "readout" if self.feed is None else "feed"
            raise ValueError(
                f"FreeRunningDecoder feeds back the results of `{name}`, which "
                f"must have the size of `first`. Received: {first_shape[-1]} "
                f"features of `first`, {fed[-1]} of `{name}`. Change `feed`."
            )

    def call(
        self,
        first,
        memory=None,
        initial_state=None,
        memory_mask=None,
        training: bool | None = None,
    ):
        cell = self.decoder.cell
        first = ops.cast(ops.convert_to_tensor(first), cell.compute_dtype)
        needs = "FreeRunningDecoder needs `first` of shape (B, D), one input"
        way_out = "For a sequence of known inputs, use AttentionDecoder."
        check_shape(needs, "first", first.shape, ("B", "D"), way_out)
        cell.attentions.check_source(
            self, memory, memory_mask, "first", first.shape
        )
        rows = ops.shape(first)[0]
        memories = cell.attentions.prepare(memory, memory_mask)
        states = cell.first_states(memories, rows, initial_state)
        with cell.dropout_masks(rows, training) as masks:
            predictions, real, weights, states = self._loop(
                first, states, memories, training, masks
            )
        lengths = ops.cast(ops.sum(ops.cast(real, "int32"), axis=1), "int32")
        cell.attentions.add_losses(
            self, weights, None if self.stop is None else real
        )
        return self._pick(predictions, lengths, weights, states)

    def _loop(self, first, states, memories, training, masks):
        """Run all steps; return results with the batch on axis 0."""
        cell, rows = self.decoder.cell, ops.shape(first)[0]
        noise = [None] * len(memories)
        if training:
            noise = cell.attentions.draw_noise(memories, self.steps)

        def step(carry, noise):
            x, real, *states = carry
            output, weights, after = cell.advance(
                cell.project_inputs(x, training),
                states,
                memories,
                noise,
                training,
                masks,
            )
            prediction = self.readout(output)
            fed = prediction if self.feed is None else self.feed(prediction)
            results = [prediction, real, *weights]
            goes_on, mask = real, None
            if self.stop is not None:
                ended = ops.reshape(self.stop(prediction), (-1,))
                goes_on = ops.logical_and(real, ~ops.cast(ended, "bool"))
                mask = real
            after = freeze(mask, after, states)
            results = freeze(mask, results, blank)
            return [ops.cast(fed, x.dtype), goes_on, *after], results

        words = [ops.shape(memory.values)[1] for memory in memories]
        dtype = getattr(self.readout, "compute_dtype", cell.compute_dtype)
        blank = [
            ops.zeros((rows, self.size), dtype),
            ops.zeros((rows,), "bool"),
            *[ops.zeros((rows, n), cell.compute_dtype) for n in words],
        ]
        carry = [first, ops.ones((rows,), "bool"), *states]
        (_, _, *states), given = self._run(step, carry, noise, blank)
        given = [ops.swapaxes(x, 0, 1) for x in given]
        return given[0], given[1], given[2:], states

    def _run(self, step, carry, noise, blank):
        """Loop, and carry the variables that a step changes.

        On some backends, a loop cannot assign to variables. Therefore those of
        `readout`, `feed` and `stop`, such as random generators, are tensors in
        the loop, and are assigned after it.
        """
        parts = self.readout, self.feed, self.stop
        layers = [x for x in parts if isinstance(x, keras.layers.Layer)]
        moving = [v for x in layers for v in x.non_trainable_variables]
        if not moving:
            return loop_over_time(step, carry, noise, blank, self.steps)
        known, count = {id(v) for v in moving}, len(moving)
        still = [v for v in self.variables if id(v) not in known]
        still = [(v, ops.convert_to_tensor(v)) for v in still]

        def scoped(carry, noise):
            values, carry = carry[:count], carry[count:]
            mapping = [*still, *zip(moving, values, strict=True)]
            with keras.StatelessScope(state_mapping=mapping) as scope:
                carry, given = step(carry, noise)
                values = [scope.get_current_value(v) for v in moving]
            return [*values, *carry], given

        carry = [*map(ops.convert_to_tensor, moving), *carry]
        carry, given = loop_over_time(scoped, carry, noise, blank, self.steps)
        for variable, value in zip(moving, carry, strict=False):
            variable.assign(value)
        return carry[count:], given

    def _pick(self, predictions, lengths, weights, states):
        """Select the requested results: one tensor, or a tuple."""
        asked = [predictions]
        if self.return_lengths:
            asked.append(lengths)
        if self.return_attention_scores:
            asked.append(self.decoder.cell.attentions.pack(list(weights)))
        if self.return_state:
            asked.extend(states)
        return asked[0] if len(asked) == 1 else tuple(asked)

    def compute_output_shape(self, first_shape, memory_shape=None) -> tuple:
        return (first_shape[0], self.steps, self.size)

    def compute_output_spec(
        self,
        first,
        memory=None,
        initial_state=None,
        memory_mask=None,
        training: bool | None = None,
    ):
        def spec(*shape, dtype=self.decoder.cell.compute_dtype):
            return keras.KerasTensor(shape, dtype=dtype)

        cell = self.decoder.cell
        attentions, batch = cell.attentions, first.shape[0]
        attentions.check_source(self, memory, memory_mask, "first", first.shape)
        attentions.check_asked(self, self.return_attention_scores)
        dtype = getattr(self.readout, "compute_dtype", self.compute_dtype)
        return self._pick(
            spec(batch, self.steps, self.size, dtype=dtype),
            spec(batch, dtype="int32"),
            [spec(batch, self.steps, memory.shape[1]) for _ in attentions],
            cell.state_specs(batch, memory, initial_state),
        )

    def compute_mask(self, first, previous_mask=None):
        return None


def _build(part, shape):
    """Build a layer, and return the output shape of the layer or function."""
    if isinstance(part, keras.layers.Layer):
        if not part.built:
            part.build(shape)
        return part.compute_output_shape(shape)
    return symbolic_result(part, keras.KerasTensor(shape)).shape
