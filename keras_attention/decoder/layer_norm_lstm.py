"""An LSTM cell with layer normalization, and its equations."""

from collections.abc import Callable

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.checks import check_rate
from keras_attention.decoder.equations import AbstractEquations
from keras_attention.decoder.equations import last_rows
from keras_attention.decoder.equations import masked_product
from keras_attention.decoder.equations import register_equations
from keras_attention.layers import AbstractPartMaker
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import product
from keras_attention.ops.numerics import layer_norm


@keras.saving.register_keras_serializable(package="keras_attention")
class LayerNormLSTMCell(AbstractPartMaker, keras.layers.LSTMCell):
    """Runs one step of an LSTM with layer normalization.

    Formula:

        z = LN(x W) + LN(h R) + b
        i, f, g, o = split(z)
        c' = LN(sigmoid(f) c + sigmoid(i) tanh(g))
        h' = sigmoid(o) tanh(c')

    `LN` subtracts the mean over all features of a row, for all four gates
    together, and divides by the standard deviation of these features. The cell
    needs fewer training steps than `keras.layers.LSTMCell` and is insensitive
    to the scale of the kernels, but each step takes longer. Results and weights
    match those of TensorFlow Addons: the layers `kernel_norm`, `recurrent_norm`
    and `state_norm` each have a `gamma` and a `beta`. The cell state that is
    carried to the next step is normalized.

    You can use this cell wherever Keras accepts a cell, such as in
    `keras.layers.RNN`, and in an `AttentionDecoderCell`, which has a fast path
    for it.

    Args:
        units: Size of the states, positive.
        norm_epsilon: Number added to the variance, positive. Defaults to
            `1e-3`.
        activation: Activation of `g` and of the new cell state. Defaults to
            `"tanh"`.
        recurrent_activation: Activation of the gates. Defaults to
            `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of `kernel`. Defaults to
            `"glorot_uniform"`.
        recurrent_initializer: Initializer of `recurrent_kernel`. Defaults to
            `"orthogonal"`.
        bias_initializer: Initializer of `bias`. Defaults to `"zeros"`.
        unit_forget_bias: Whether the bias of the forget gate starts at 1.
            Defaults to `True`.
        kernel_regularizer: Regularizer of `kernel`. Defaults to `None`.
        recurrent_regularizer: Regularizer of `recurrent_kernel`. Defaults to
            `None`.
        bias_regularizer: Regularizer of `bias`. Defaults to `None`.
        kernel_constraint: Constraint of `kernel`. Defaults to `None`.
        recurrent_constraint: Constraint of `recurrent_kernel`. Defaults to
            `None`.
        bias_constraint: Constraint of `bias`. Defaults to `None`.
        dropout: Rate at which inputs are dropped in training, with one mask per
            sequence. Defaults to `0.0`.
        recurrent_dropout: Rate at which `h` is dropped before its product, with
            one mask per sequence. Defaults to `0.0`.
        seed: Integer random seed for dropout. Defaults to `None`.
        norm_gamma_initializer: Initializer of every `gamma`. Defaults to
            `"ones"`.
        norm_beta_initializer: Initializer of every `beta`. Defaults to
            `"zeros"`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: `(B, D)`.
        states: List of `h (B, units)` and `c (B, units)`.
        training: Whether to apply dropout.

    Returns:
        The output `h' (B, units)`, and the list of the next states.

    Raises:
        ValueError: If `units` or `norm_epsilon` is not positive, or if a rate
            is not in `[0, 1)`.

    Example:

    >>> layer = RNN(LayerNormLSTMCell(8), return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450), section 3.1 and
        eqs. 20 to 22.
    """

    made = "kernel_norm", "recurrent_norm", "state_norm"

    def __init__(
        self,
        units: int,
        norm_epsilon: float = 1e-3,
        *,
        activation: str | Callable | None = "tanh",
        recurrent_activation: str | Callable | None = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        norm_gamma_initializer: Initializer = "ones",
        norm_beta_initializer: Initializer = "zeros",
        **kwargs,
    ):
        rate = check_rate("recurrent_dropout", recurrent_dropout)
        super().__init__(
            check_integer("units", units),
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            unit_forget_bias=unit_forget_bias,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            dropout=check_rate("dropout", dropout),
            recurrent_dropout=rate,
            seed=seed,
            **kwargs,
        )
        # One product for all gates: one mask, also with recurrent dropout.
        self.implementation, self.dropout_mask_count = 2, None
        self.norm_epsilon = norm_epsilon
        self._add_norms(norm_gamma_initializer, norm_beta_initializer)

    def _add_norms(self, gamma_initializer, beta_initializer):
        check_number("norm_epsilon", self.norm_epsilon, above=0)
        gamma = keras.initializers.get(gamma_initializer)
        beta = keras.initializers.get(beta_initializer)
        self.norm_gamma_initializer, self.norm_beta_initializer = gamma, beta
        self.kernel_norm, self.recurrent_norm, self.state_norm = (
            keras.layers.LayerNormalization(
                epsilon=self.norm_epsilon,
                gamma_initializer=gamma,
                beta_initializer=beta,
                dtype=self.dtype_policy,
                name=name,
            )
            for name in self.made
        )
        self.trainable = self.trainable  # of all parts

    def build(self, inputs_shape):
        super().build(inputs_shape)
        self.kernel_norm.build((None, 4 * self.units))
        self.recurrent_norm.build((None, 4 * self.units))
        self.state_norm.build((None, self.units))

    def call(self, inputs, states, training: bool | None = False) -> tuple:
        mask = recurrent_mask = None
        if training:
            mask = self.get_dropout_mask(inputs)
            recurrent_mask = self.get_recurrent_dropout_mask(states[0])
        equations = LayerNormLSTMEquations()
        x = equations.project_inputs(self, inputs, mask)
        return equations.step(self, x, None, states, recurrent_mask)

    def compute_output_shape(self, inputs_shape, states_shape) -> tuple:
        shape = (*inputs_shape[:-1], self.units)
        return shape, [shape, shape]

    def get_config(self) -> dict:
        serialize = keras.initializers.serialize
        own = {
            "norm_epsilon": self.norm_epsilon,
            "norm_gamma_initializer": serialize(self.norm_gamma_initializer),
            "norm_beta_initializer": serialize(self.norm_beta_initializer),
        }
        return {**super().get_config(), **own}


@register_equations(LayerNormLSTMCell)
class LayerNormLSTMEquations(AbstractEquations):
    """Computes a `LayerNormLSTMCell`.

    A sum is normalized when it is complete: before the loop if there are no
    further inputs, else in the step, after the remaining inputs are projected.
    """

    def project_inputs(self, cell, x, masks=None):
        projected = super().project_inputs(cell, x, masks)
        whole = x.shape[-1] == cell.kernel.shape[0]
        return self._normalize(cell, projected) if whole else projected

    def input_bias(self, cell):
        return None  # it follows after the normalization

    def step(self, cell, x, rest, states, masks=None) -> tuple:
        h, c = states
        if rest is not None:
            x = x + product(rest, last_rows(cell, rest))
            x = self._normalize(cell, x)
        recurrent = masked_product(h, cell.recurrent_kernel, masks)
        z = x + _norm(cell.recurrent_norm, recurrent)
        gate, activation = cell.recurrent_activation, cell.activation
        i, f, g, o = ops.split(z, 4, axis=-1)
        c = _norm(cell.state_norm, gate(f) * c + gate(i) * activation(g))
        h = gate(o) * activation(c)
        return h, [h, c]

    def _normalize(self, cell, projected):
        x = _norm(cell.kernel_norm, projected)
        return x + ops.cast(cell.bias, x.dtype) if cell.use_bias else x


def _norm(layer, x):
    return layer_norm(x, layer.gamma, layer.beta, layer.epsilon)
