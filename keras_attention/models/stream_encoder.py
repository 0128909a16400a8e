"""Encoders that read one way, continued where a part of the source ended."""

import keras
from keras import layers
from keras import ops

from keras_attention.checks import refuse_to_stream
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.stack import run_cells
from keras_attention.layers import loops_as_keras

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
    name = f"{type(encoder).__name__} `{encoder.name}`"
    if getattr(encoder, "bidirectional", False):
        refuse_to_stream(
            f"{name} with bidirectional=True",
            "begins at the end of the source as well",
            WAY_OUT,
        )
    if hasattr(encoder, "read_on") and hasattr(encoder, "first_states"):
        return encoder
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
    return LayerReader(encoder)


class LayerReader:
    """Reads a sequence by the cells of a recurrent layer, part by part.

    Args:
        layer: One of Keras' recurrent layers.
    """

    def __init__(self, layer: layers.RNN):
        self.layer, self.stack = layer, CellStack(layer.cell)

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, U)` each."""
        return self.stack.initial_states(rows)

    def read_on(self, sequence, mask, states) -> tuple:
        """Read a part, as `RecurrentEncoder.read_on` does."""
        sequence = ops.cast(sequence, self.layer.compute_dtype)
        outputs, states = run_cells(
            self.stack,
            ops.swapaxes(sequence, 0, 1),
            ops.swapaxes(mask, 0, 1),
            states,
            repeats=not self.layer.zero_output_for_mask,
        )
        return ops.swapaxes(outputs, 0, 1), mask, states
