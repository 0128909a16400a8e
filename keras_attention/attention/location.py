"""Location-based attention: scores depend on the query and the position."""

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import join_masks
from keras_attention.ops import product
from keras_attention.ops import source_positions
from keras_attention.ops.rows import take_columns


@keras.saving.register_keras_serializable(package="keras_attention")
class LocationAttention(AbstractKernelLayer, AbstractAttention):
    """Attends to positions by the query alone, without comparing keys.

    Formula:

        score(q, position j) = (q W)[j]

    `W` has one column for each of `max_length` positions, counted from the
    first valid position. If a source is longer than `max_length`, its later
    positions get a weight of 0. If a source is shorter, the softmax is over the
    positions of the source.

    Args:
        max_length: Number of positions that can be attended to, positive.
        alignment: How scores become weights, as in `AbstractAttention`.
            Defaults to `"softmax"`.
        dropout: Rate at which attention weights are dropped in training.
            Defaults to `0.0`.
        seed: Integer random seed. Defaults to `None`.
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)` -> context `(B, Tq, Dv)`; the
        rest as in `AbstractAttention`.

    Raises:
        ValueError: If `max_length` is not positive.

    Example:

    >>> attention = LocationAttention(max_length=50)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 8.
    """

    def __init__(
        self,
        max_length: int,
        *,
        alignment: str | dict | AbstractAlignment = "softmax",
        dropout: float = 0.0,
        seed: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            alignment=alignment,
            dropout=dropout,
            seed=seed,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        self.max_length = check_integer("max_length", max_length)

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.kernel = self.add_kernel(
            "kernel", (query_shape[-1], self.max_length)
        )

    def reach(self, memory, mask) -> tuple:
        words = ops.shape(memory.values)[1]
        positions = source_positions(memory.mask, words, "int32")
        return positions, join_masks(mask, positions < self.max_length)

    def project_query(self, query):
        return product(query, self.kernel)  # (B, Tq, max_length)

    def score(self, query, positions):
        columns = ops.clip(positions, 0, self.max_length - 1)
        return take_columns(query, columns)  # (B, Tq, Tv)
