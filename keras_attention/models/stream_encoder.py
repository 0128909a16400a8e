"""Encoders that read one way, continued where a part of the source ended."""

import keras
from keras import layers
from keras import ops

from keras_attention.checks import refuse_to_stream
from keras_attention.decoder.stack import CellStack
from keras_attention.layers import loops_as_keras
from keras_attention.models.encoder import RecurrentEncoder
from keras_attention.models.encoder import append
from keras_attention.ops import freeze
from keras_attention.ops import loop_over_time

WAY_OUT = (
    "Use RecurrentEncoder(units, bidirectional=False), or LSTM, GRU, SimpleRNN "
    "or RNN(cell), one way; or give the encoder the methods `first_states` and "
    "`read_on`."
)


def find_reader(encoder: keras.layers.Layer):
    """Find how an encoder reads a source that still comes in.

    An encoder of one's own reads one if it has the methods

    - `first_states(rows)`, which returns a list of tensors `(B, ...)`;
    - `read_on(sequence, mask, states)`, which reads `(B, n, D)`, real where
      the boolean mask `(B, n)` is `True`, and returns the outputs `(B, m,
      Dv)`, their mask `(B, m)` and the next states, of the same shapes.

    The outputs of all parts, one after the other, must be those of the whole.

    Args:
        encoder: The encoder of a `Seq2Seq`.

    Returns:
        An object with these two methods.

    Raises:
        ValueError: If the encoder needs the end of the source, or is not
            known.
    """
    if hasattr(encoder, "read_on") and hasattr(encoder, "first_states"):
        return encoder
    name = f"{type(encoder).__name__} `{encoder.name}`"
    if isinstance(encoder, RecurrentEncoder):
        if encoder.bidirectional:
            refuse_to_stream(
                f"{name} with bidirectional=True",
                "begins at the end of the source as well",
                WAY_OUT,
            )
        return StackReader(
            encoder.layers, encoder.residual, encoder.append_inputs
        )
    if isinstance(encoder, layers.Bidirectional):
        reason = "begins at the end of the source as well"
        refuse_to_stream(name, reason, WAY_OUT)
    if not loops_as_keras(encoder):
        refuse_to_stream(name, "may need the end of the source", WAY_OUT)
    if encoder.go_backwards:
        reason = "begins at the end of the source"
        refuse_to_stream(f"{name} with go_backwards=True", reason, WAY_OUT)
    if encoder.stateful:
        reason = "goes on from where another source ended"
        refuse_to_stream(f"{name} with stateful=True", reason, WAY_OUT)
    return StackReader([encoder])


class StackReader:
    """Reads a sequence by the cells of recurrent layers, part by part.

    Args:
        layers: Keras' recurrent layers, bottom first.
        residual: Whether every layer but the first adds its inputs to its
            outputs. Defaults to `False`.
        append_inputs: Whether outputs end with the inputs. Defaults to
            `False`.
    """

    def __init__(
        self,
        layers: list[layers.RNN],
        residual: bool = False,
        append_inputs: bool = False,
    ):
        self.layers = layers
        self.stacks = [CellStack(layer.cell) for layer in layers]
        self.residual = residual
        self.append_inputs = append_inputs

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, U)` each."""
        return [x for stack in self.stacks for x in stack.initial_states(rows)]

    def read_on(self, sequence, mask, states) -> tuple:
        """Read a part, from the states after the parts before.

        Args:
            sequence: `(B, n, D)`, with at least one position.
            mask: Boolean `(B, n)`, `True` at real positions. At others the
                states stay, and outputs are 0, but for appended inputs.
            states: Flat list of the states of all layers, `(B, U)`.

        Returns:
            Outputs `(B, n, Dv)`, the mask, and the next states.
        """
        left, after, inputs = list(states), [], sequence
        real = ops.swapaxes(mask, 0, 1)
        sequence = ops.swapaxes(sequence, 0, 1)  # (n, B, D)
        for i, (layer, stack) in enumerate(
            zip(self.layers, self.stacks, strict=True)
        ):
            count = len(stack.state_sizes)
            own, left = left[:count], left[count:]
            sequence = ops.cast(sequence, layer.compute_dtype)
            outputs, own = _run(stack, sequence, real, own)
            sequence = sequence + outputs if self.residual and i else outputs
            after.extend(own)
        sequence = ops.swapaxes(sequence, 0, 1)
        if self.append_inputs:
            sequence = append(sequence, inputs)
        return sequence, mask, after


def _run(stack, sequence, real, states):
    """Run cells over a part, with time on axis 0."""
    steps, rows = ops.shape(sequence)[:2]
    blank = [ops.zeros((rows, stack.output_size), sequence.dtype)]

    def step(states, inputs):
        x, real = inputs
        output, after = stack.run(x, states, training=False)
        after = [
            ops.cast(a, b.dtype) for a, b in zip(after, states, strict=True)
        ]
        output = ops.cast(output, blank[0].dtype)
        after = freeze(real, after, states)
        return list(after), list(freeze(real, [output], blank))

    states = [ops.cast(x, sequence.dtype) for x in states]
    inputs = [stack.project_inputs(sequence, False), real]
    states, (outputs,) = loop_over_time(step, states, inputs, blank, steps)
    return outputs, list(states)
