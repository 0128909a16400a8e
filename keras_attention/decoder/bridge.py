"""Maps from an encoder's final states to a decoder's initial states."""

from collections.abc import Callable

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_size
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import product

MODES = ("dense", "concat", "sum", "zeros")


@keras.saving.register_keras_serializable(package="keras_attention")
class StateBridge(AbstractKernelLayer):
    """Maps final states of an encoder to initial states of a decoder.

    Formula:

        "dense": s = activation([forward; backward] W + b), W and b per state
        "concat": s = [forward; backward]
        "sum": s = forward + backward
        "zeros": s = 0

    Keras returns the states of the last valid step of each direction, so
    padding has no effect. `"dense"`, `"concat"` and `"zeros"` return states
    whose size is the sum of the sizes of both directions. For example, after a
    bidirectional `LSTM(256)`, the decoder needs an `LSTMCell(512)`.

    Args:
        mode: `"dense"`, `"concat"`, `"sum"` or `"zeros"`. Defaults to
            `"dense"`.
        units: Size of each state for `"dense"` and `"zeros"`. Defaults to the
            sum of the sizes of both directions.
        bidirectional: Whether the second half of each layer's states belongs to
            a backward direction. `Seq2Seq` raises an error for `True` if all
            Keras RNN layers of the encoder read in one direction; it cannot
            check custom layers. Defaults to `True`.
        activation: Activation of `"dense"`. Defaults to `"tanh"`.
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        states: The states that Keras returns after the sequence: for a
            bidirectional LSTM, they are `[forward h, c, backward h, c]`. Or a
            list of such lists, one for each layer, bottom first.

    Returns:
        A flat list of the states of all layers, bottom first.

    Raises:
        ValueError: If `mode` is unknown, if `units` is given for `"concat"` or
            `"sum"`, or if a bidirectional layer has an odd number of states.

    Example:

    >>> states = [np.ones((2, 8))] * 4
    >>> [tuple(s.shape) for s in StateBridge(units=12)(states)]
    [(2, 12), (2, 12)]

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), appendix
        A.2.2, which uses only the backward state.
    """

    def __init__(
        self,
        mode: str = "dense",
        units: int | None = None,
        bidirectional: bool = True,
        activation: str | Callable | None = "tanh",
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        check_choice("mode", mode, MODES)
        self.mode = mode
        self.units = check_size("units", units)
        if units is not None and mode not in ("dense", "zeros"):
            raise ValueError(
                "`units` applies only to the modes 'dense' and 'zeros'; other "
                f"modes keep the encoder's sizes. Received: units={units}, "
                f"mode={mode!r}. Omit `units`, or use mode='dense'."
            )
        self.bidirectional = bidirectional
        self.activation = keras.activations.get(activation)

    def build(self, states_shape):
        self.kernels, self.biases = [], []
        if self.mode != "dense":
            return
        for i, shapes in enumerate(self._directions(states_shape)):
            joint = sum(shape[-1] for shape in shapes)
            size = self.units or joint
            self.kernels.append(self.add_kernel(f"kernel_{i}", (joint, size)))
            self.biases.append(self.add_bias(f"bias_{i}", size))

    def call(self, states) -> list:
        parts = self._directions(states)
        return [self._join(i, both) for i, both in enumerate(parts)]

    def _join(self, i, parts):
        if self.mode == "sum":
            return sum(parts[1:], parts[0])
        joint = ops.concatenate(parts, axis=-1)
        if self.mode == "concat":
            return joint
        if self.mode == "zeros":
            size = self.units or joint.shape[-1]
            return ops.zeros((ops.shape(joint)[0], size), joint.dtype)
        x = product(joint, self.kernels[i])
        return self.activation(x + ops.cast(self.biases[i], x.dtype))

    def compute_output_shape(self, states_shape) -> list:
        shapes = []
        for parts in self._directions(states_shape):
            kept = parts[:1] if self.mode == "sum" else parts
            size = self.units or sum(units for _, units in kept)
            shapes.append((parts[0][0], size))
        return shapes

    def _directions(self, states):
        """Yield the encoder states, or shapes, that make up a decoder state."""
        if _is_state(states):
            states = [states]
        layers = [states] if _is_state(states[0]) else states
        for layer in layers:
            if not self.bidirectional:
                yield from ([state] for state in layer)
                continue
            half, odd = divmod(len(layer), 2)
            if odd:
                raise ValueError(
                    "StateBridge needs the same number of forward and backward "
                    f"states. Received: {len(layer)} states of one layer. For "
                    "a unidirectional encoder, use bidirectional=False."
                )
            yield from ([layer[i], layer[half + i]] for i in range(half))

    def get_config(self) -> dict:
        config = super().get_config()
        config["activation"] = keras.activations.serialize(self.activation)
        return config


def _is_state(x):
    """Return whether it is a tensor or a shape, rather than a list of them."""
    is_list = isinstance(x, list | tuple)
    return not is_list or all(isinstance(size, int | None) for size in x)
