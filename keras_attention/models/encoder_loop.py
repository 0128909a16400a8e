"""One recurrent layer of an encoder, run by the training loop."""

from keras import layers
from keras import ops

from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import check_mask
from keras_attention.attention.memory import check_rank_3
from keras_attention.decoder.stack import CellStack
from keras_attention.layers import call_masked
from keras_attention.layers import directions
from keras_attention.ops import freeze
from keras_attention.ops import trainable_loop
from keras_attention.ops.fast_paths import fast_path


def run_layer(
    layer: layers.Layer, sequence, mask=None, training: bool | None = None
) -> tuple:
    """Run a recurrent layer of an encoder over a sequence.

    In training on TensorFlow without a GPU, `trainable_loop` runs the layer's
    cells: the same numbers from the same weights, and the first derivative
    alone. Everywhere else the layer itself is called: inference is no faster
    by our loop, a GPU has cuDNN, and exports need the layer's own loop.

    Args:
        layer: An `LSTM`, `GRU` or `RNN` whose cell has registered equations,
            or a `Bidirectional` of one, that returns its sequence and its
            states.
        sequence: `(B, T, D)`.
        mask: Boolean `(B, T)`, `True` at real positions, or `None`.
        training: Whether to apply dropout.

    Returns:
        The outputs `(B, T, U)`, or `(B, T, 2 U)`, and the final states.

    Raises:
        ValueError: If sequence or mask has another shape.
    """
    shape = check_rank_3(layer, "sequence", sequence, "(B, T, D)")
    check_mask(layer, "mask", mask, shape[:2], "(B, T)")
    if not (training and fast_path("outruns_keras_layers", _never)()):
        return call_masked(layer, sequence, mask, training)
    sequence = ops.cast(sequence, layer.compute_dtype)
    sequence = ops.swapaxes(sequence, 0, 1)  # (T, B, D)
    real = None if mask is None else ops.swapaxes(as_mask(mask), 0, 1)
    found = [_run_direction(one, sequence, real) for one in directions(layer)]
    outputs = ops.concatenate([outputs for outputs, _ in found], axis=-1)
    states = [x for _, states in found for x in states]
    return ops.swapaxes(outputs, 0, 1), *states


def _never():
    return False


def _run_direction(layer, sequence, real):
    """Train a layer in one direction, with time on axis 0.

    The outputs of a layer that goes backwards stay at their positions, as
    `Bidirectional` has them.

    Args:
        layer: The recurrent layer.
        sequence: `(T, B, D)`.
        real: Boolean `(T, B)`, or `None`.

    Returns:
        Outputs `(T, B, U)`, and the list of the final states.
    """
    stack = CellStack(layer.cell)
    steps, rows = ops.shape(sequence)[:2]
    size = sequence.shape[-1]
    # As a matrix: TensorFlow adds the bias within the product.
    projected = stack.project_inputs(ops.reshape(sequence, (-1, size)), True)
    projected = ops.reshape(projected, (steps, rows, projected.shape[-1]))
    blank = [ops.zeros((rows, stack.output_size), projected.dtype)]
    with stack.dropout_masks(rows, size, training=True) as masks:

        def step(layer, states, inputs, _):
            x, real = inputs
            output, after = CellStack(layer.cell).run(
                x, states, training=True, masks=masks
            )
            frozen = blank if layer.zero_output_for_mask else states[:1]
            return (
                freeze(real, after, states),
                freeze(real, [output], frozen),
            )

        states, (outputs,) = trainable_loop(
            step,
            stack.initial_states(rows),
            [projected, real],
            blank,
            steps,
            layer,
            None,
            True,
            layer.go_backwards,
        )
    return outputs, states
