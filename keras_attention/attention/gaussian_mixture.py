"""Gaussian mixture attention: Gaussian windows that move to the right."""

import keras

from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_absent
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import product
from keras_attention.ops import source_positions
from keras_attention.ops import widen

LARGEST = 8.0  # of logarithms: exp(8) is 2981


@keras.saving.register_keras_serializable(package="keras_attention")
class GaussianMixtureAttention(AbstractKernelLayer, AbstractAttention):
    """Attends with a mixture of Gaussians that only move to the right.

    Formula:

        log alpha, log beta, log step = q W + b
        kappa = previous kappa + step
        weights[u] = sum_m alpha_m exp(-beta_m (kappa_m - u)^2)

    Positions `u` count from 1, the first valid position of a source, and
    `kappa` starts at 0. If `W` and `b` are zero, the first step attends to the
    first position, and every further step moves by one position. Weights depend
    on positions, not on values. The weights are not normalized: their sum can
    be any nonnegative number. To avoid an overflow, `log alpha`, `log beta` and
    `log step` are capped at 8, which is far above their usual values.

    Args:
        components: Number `M` of Gaussians, positive.
        dropout: Rate at which attention weights are dropped in training.
            Defaults to `0.0`.
        seed: Integer random seed for dropout. Defaults to `None`.
        kernel_initializer: Initializer of the kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of the kernel. Defaults to `None`.
        kernel_constraint: Constraint of the kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)` -> context `(B, Tq, Dv)`; the
        rest as in `AbstractAttention`.

    Raises:
        ValueError: If `components` is not positive.

    Example:

    >>> attention = GaussianMixtureAttention(3)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Graves, 2013](https://arxiv.org/abs/1308.0850), eqs. 46 to 51.
    """

    state_count = 1  # kappa, `(B, K, components)`

    def __init__(
        self,
        components: int,
        *,
        dropout: float = 0.0,
        seed: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        reason = "its weights are densities, not scores"
        check_absent("alignment", kwargs, self, reason)
        super().__init__(
            alignment=None,
            dropout=dropout,
            seed=seed,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        self.components = check_integer("components", components)

    def build(self, query_shape, value_shape, key_shape=None):
        size = 3 * self.components
        self.kernel = self.add_kernel("kernel", (query_shape[-1], size))
        self.bias = self.add_bias("bias", size)

    def first_state(self, real) -> tuple:
        shape = (*ops.shape(real)[:2], self.components)
        return (ops.zeros(shape, real.dtype),)

    def weigh(self, query, memory, mask, state, noise) -> tuple:
        logs = product(widen(query), self.kernel)
        logs = logs + ops.cast(self.bias, logs.dtype)
        logs = ops.where(logs < LARGEST, logs, LARGEST)
        height, width, move = ops.split(logs, 3, axis=-1)
        kappa = ops.cast(state[0], logs.dtype) + ops.exp(move)  # (B, Tq, M)
        words = ops.shape(memory.values)[1]
        positions = 1 + source_positions(memory.mask, words, logs.dtype)
        height, width, centre = (
            ops.expand_dims(x, 2) for x in (height, ops.exp(width), kappa)
        )
        far = ops.square(centre - ops.expand_dims(positions, -1))
        bells = ops.exp(height - width * far)  # (B, Tq, Tv, M)
        weights = ops.sum(bells, axis=-1)
        if mask is not None:
            weights = ops.where(mask, weights, 0.0)
        return weights, (kappa,)
