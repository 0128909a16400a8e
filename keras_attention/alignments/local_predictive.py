"""Local alignment around a position predicted from the query (local-p)."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops import product
from keras_attention.ops import source_positions
from keras_attention.ops.numerics import tanh
from keras_attention.ops.positions import count_positions


@keras.saving.register_keras_serializable(package="keras_attention")
class LocalPredictive(AbstractKernelLayer, AbstractAlignment):
    """Attends to a window around a position predicted from the query.

    Formula:

        p = S sigmoid(v . tanh(q W))
        weights[j] = softmax(score at |j - p| <= window)[j]
            exp(-(j - p)^2 / (2 sigma^2)), sigma = window / 2

    `S` is the number of valid positions of the source. Positions `j` count from
    0, which is the first valid position. The gradient of `p` comes from the
    Gaussian. Because the Gaussian is applied after the softmax, weights sum to
    less than 1. Before training, `p` is near the middle of the source.

    Args:
        window: Largest distance of a position from `p`, positive.
        kernel_initializer: Initializer of both kernels. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of both kernels. Defaults to `None`.
        kernel_constraint: Constraint of both kernels. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name`.

    Raises:
        ValueError: If `window` is not positive.

    Example:

    >>> attention = DotAttention(alignment=LocalPredictive(window=2))
    >>> context, weights = attention(
    ...     np.ones((2, 3, 8)),
    ...     np.ones((2, 7, 8)),
    ...     return_attention_scores=True,
    ... )
    >>> tuple(context.shape), tuple(weights.shape)
    ((2, 3, 8), (2, 3, 7))
    >>> bool(ops.all(ops.sum(weights, axis=-1) < 1))
    True

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eqs. 9 and 10.
    """

    needs_end = "needs the length of the source to place its window"

    def __init__(
        self,
        window: int,
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
        self.window = check_integer("window", window)

    def build(self, query_shape, value_shape):
        size = query_shape[-1]
        self.position_kernel = self.add_kernel("position_kernel", (size, size))
        self.position_vector = self.add_kernel("position_vector", (size,))

    def align_source(self, scores, mask, state, noise, query, real) -> tuple:
        self.check_built("align")
        query = ops.cast(query, scores.dtype)
        hidden = tanh(product(query, self.position_kernel))
        vector = ops.cast(self.position_vector, scores.dtype)
        share = ops.sum(hidden * vector, axis=-1, keepdims=True)
        lengths = count_positions(real, scores)
        centre = lengths * ops.sigmoid(share)  # (B, K, 1)
        words = ops.shape(scores)[-1]
        distance = source_positions(real, words, scores.dtype) - centre
        near = ops.abs(distance) <= self.window
        gauss = ops.exp(-2 * ops.square(distance / self.window))
        weights = masked_softmax(scores, join_masks(near, mask))
        return weights * gauss, state
