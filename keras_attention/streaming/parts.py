"""How the components of a model read a source that arrives in parts."""

from keras import layers
from keras import ops

from keras_attention.alignments import AbstractReading
from keras_attention.checks import refuse_to_stream
from keras_attention.decoder import StateBridge
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.stack import run_cells
from keras_attention.layers import loops_as_keras
from keras_attention.models import Seq2Seq

HARD = (
    "Use an attention that can stream, such as BahdanauAttention(64, "
    "alignment=Monotonic(mode='hard'))."
)
ONE_WAY = (
    "Use RecurrentEncoder(units, bidirectional=False), or a unidirectional "
    "LSTM, GRU, SimpleRNN or RNN(cell); or define the methods `first_states` "
    "and `read_on` in the encoder."
)


def find_readings(model: Seq2Seq) -> list[AbstractReading]:
    """Return how each attention of a model reads a source.

    Args:
        model: The model.

    Raises:
        ValueError: If the decoder or one of its components needs the end of the
            source.
    """
    model.readout.check_stream()
    attentions = model.decoder.cell.attentions
    if not attentions:
        reason = "leaves the decoder only the encoder's final states"
        refuse_to_stream("attention=None", reason, HARD)
    _check_bridge(model.bridge, model.encoder)
    if model.decoder.cell.attention_window is not None:
        reason = "follows the largest weight, not the position of the stream"
        way_out = (
            "Omit it: a stream keeps only positions that may still be needed."
        )
        refuse_to_stream("attention_window", reason, way_out)
    return [layer.reading() for layer in attentions]


def _check_bridge(bridge, encoder):
    """Raise an error unless the decoder's initial states are zeros."""
    mode = getattr(bridge, "mode", None)
    if bridge is None and not getattr(encoder, "return_state", True):
        return
    if isinstance(bridge, StateBridge) and mode == "zeros":
        return
    kind = None if bridge is None else type(bridge).__name__
    received = f"bridge={kind}({mode!r})" if mode else f"bridge={kind}"
    reason = "passes the encoder's final states to the decoder"
    way_out = "Use StateBridge('zeros', units=...), and train with it."
    refuse_to_stream(received, reason, way_out)


def find_reader(encoder: layers.Layer):
    """Return an object that reads a source in parts with an encoder.

    A custom encoder is supported if it has the methods

    - `first_states(rows)`, which returns a list of tensors `(B, ...)`;
    - `read_on(sequence, mask, states)`, which reads `(B, n, D)`, valid where
      the boolean mask `(B, n)` is `True`, and returns the outputs `(B, m, Dv)`,
      their mask `(B, m)` and the next states, of the same shapes.

    The concatenated outputs of all parts must equal the outputs for the whole
    source.

    Args:
        encoder: The encoder of a `Seq2Seq`.

    Returns:
        An object with these two methods.

    Raises:
        ValueError: If the encoder needs the end of the source, or is of an
            unknown type.
    """
    name = f"{type(encoder).__name__} `{encoder.name}`"
    reason = "also reads from the end of the source"
    if getattr(encoder, "bidirectional", False):
        refuse_to_stream(f"{name} with bidirectional=True", reason, ONE_WAY)
    if hasattr(encoder, "read_on") and hasattr(encoder, "first_states"):
        return encoder
    if isinstance(encoder, layers.Bidirectional):
        refuse_to_stream(name, reason, ONE_WAY)
    if not loops_as_keras(encoder):
        refuse_to_stream(name, "may need the end of the source", ONE_WAY)
    if encoder.go_backwards:
        reason = "reads from the end of the source"
        refuse_to_stream(f"{name} with go_backwards=True", reason, ONE_WAY)
    if encoder.stateful:
        reason = "continues from the end of another source"
        refuse_to_stream(f"{name} with stateful=True", reason, ONE_WAY)
    return LayerReader(encoder)


class LayerReader:
    """Reads a sequence part by part, with the cells of a recurrent layer.

    Args:
        layer: One of Keras' recurrent layers.
    """

    def __init__(self, layer: layers.RNN):
        self.layer, self.stack = layer, CellStack(layer.cell)

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, U)` each."""
        return self.stack.initial_states(rows)

    def read_on(self, sequence, mask, states) -> tuple:
        """Read a part, like `RecurrentEncoder.read_on`."""
        sequence = ops.cast(sequence, self.layer.compute_dtype)
        outputs, states = run_cells(
            self.stack,
            ops.swapaxes(sequence, 0, 1),
            ops.swapaxes(mask, 0, 1),
            states,
            repeats=not self.layer.zero_output_for_mask,
        )
        return ops.swapaxes(outputs, 0, 1), mask, states
