"""Gaussian mixture attention: windows that slide along the source."""

import keras
from keras import ops

from keras_attention.attention.memory import AbstractMemoryAttention
from keras_attention.checks import check_integer
from keras_attention.layers.kernels import AbstractKernelLayer
from keras_attention.ops import product
from keras_attention.ops import widen

LARGEST = 8.0  # of a logarithm: a height, or a move, of 2981


@keras.saving.register_keras_serializable(package="keras_attention")
class GaussianMixtureAttention(AbstractKernelLayer, AbstractMemoryAttention):
    """Attends to positions under bells that move to the right alone.

    Formula:

        log alpha, log beta, log step = q W + b
        kappa = previous kappa + step
        weights[u] = sum_m alpha_m exp(-beta_m (kappa_m - u)^2)

    Positions `u` count from 1, and `kappa` starts at 0: with weights of zero
    the first step looks at the first position, and every step moves on by
    one. What stands at a position does not matter. Weights are not
    normalized: they sum to anything, also to 0. Logarithms above 8 count as
    8, far from where training should be.

    Args:
        components: How many bells, positive.
        **kwargs: Arguments of `AbstractKernelLayer`, such as
            `kernel_initializer`, and of `AbstractMemoryAttention`. It makes
            its weights itself, and so takes no `alignment`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)` -> context `(B, Tq, Dv)`; the
        rest as in `AbstractMemoryAttention`.

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

    def __init__(self, components: int, **kwargs):
        super().__init__(**kwargs)
        check_integer("components", components)
        self.components = components

    def build(self, query_shape, value_shape, key_shape=None):
        size = 3 * self.components
        self.kernel = self.add_kernel("kernel", (query_shape[-1], size))
        self.bias = self.add_weight(
            name="bias", shape=(size,), initializer="zeros", autocast=False
        )

    def first_state(self, real):
        shape = (*ops.shape(real)[:2], self.components)
        return (ops.zeros(shape, real.dtype),)

    def weigh(self, query, memory, mask, state, noise):
        logs = product(widen(query), self.kernel)
        logs = logs + ops.cast(self.bias, logs.dtype)
        logs = ops.where(logs < LARGEST, logs, LARGEST)
        height, width, move = ops.split(logs, 3, axis=-1)
        kappa = ops.cast(state[0], logs.dtype) + ops.exp(move)  # (B, Tq, M)
        words = ops.shape(memory.values)[1]
        positions = 1 + ops.arange(words, dtype=logs.dtype)
        height, width, centre = (
            ops.expand_dims(x, 2) for x in (height, ops.exp(width), kappa)
        )
        far = ops.square(centre - ops.expand_dims(positions, 1))
        bells = ops.exp(height - width * far)  # (B, Tq, Tv, M)
        weights = ops.sum(bells, axis=-1)
        if mask is not None:
            weights = ops.where(mask, weights, 0.0)
        return weights, (kappa,)

    def get_config(self):
        return {**super().get_config(), "components": self.components}
