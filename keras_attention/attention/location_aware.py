"""Location-aware attention: the score sees where the last step looked."""

import keras
from keras import ops

from keras_attention.attention.history import AbstractHistoryAttention
from keras_attention.checks import check_integer
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="keras_attention")
class LocationAwareAttention(AbstractHistoryAttention):
    """Attends by an additive score that sees the weights around a position.

    Formula:

        score(q, k_j) = v . tanh(q Wq + k_j Wk + f_j Wf + b)
        f = F * a, a convolution of the weights of the step before

    Before the first step `a` is uniform over the real positions. With
    `cumulative` it is the sum of all weights so far, that start included.
    Positions beyond the ends count as 0, so `f` at the ends differs. The
    convolution is taken in float32 or wider.

    Args:
        units: Size of the network's hidden layer, positive.
        filters: How many filters `F` has, positive.
        kernel_size: How many positions a filter sees, positive; odd to be
            centred.
        cumulative: Whether `a` is the sum of all weights so far. Defaults to
            `False`.
        **kwargs: Arguments of `AbstractHistoryAttention`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractMemoryAttention`.

    Raises:
        ValueError: If `units`, `filters` or `kernel_size` is not positive.

    Example:

    >>> attention = LocationAwareAttention(16, filters=4, kernel_size=5)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Chorowski et al., 2015](https://arxiv.org/abs/1506.07503), eqs. 8
        and 9.
    """

    def __init__(
        self,
        units: int,
        filters: int,
        kernel_size: int,
        cumulative: bool = False,
        **kwargs,
    ):
        super().__init__(units, **kwargs)
        check_integer("filters", filters)
        check_integer("kernel_size", kernel_size)
        self.filters = filters
        self.kernel_size = kernel_size
        self.cumulative = cumulative

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.location_filters = self.add_kernel(
            "location_filters", (self.kernel_size, 1, self.filters)
        )
        self.location_kernel = self.add_kernel(
            "location_kernel", (self.filters, self.units)
        )

    def first_history(self, real):
        count = ops.sum(real, axis=-1, keepdims=True)
        return real / ops.maximum(count, 1.0)

    def next_history(self, history, weights):
        weights = ops.cast(weights, history.dtype)
        return history + weights if self.cumulative else weights

    def features(self, history):
        batch, beams, words = ops.shape(history)
        rows, size = batch * beams, self.kernel_size
        # Padded by hand, and by one position more: no backend takes none.
        around = ((size - 1) // 2, size // 2 + 1)
        padded = ops.pad(
            ops.reshape(history, (rows, words, 1)), ((0, 0), around, (0, 0))
        )
        features = ops.conv(
            padded,
            ops.cast(self.location_filters, history.dtype),
            padding="valid",
            data_format="channels_last",
        )[:, :words]
        features = product(features, self.location_kernel)
        return ops.reshape(features, (batch, beams, words, self.units))

    def get_config(self):
        own = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "cumulative": self.cumulative,
        }
        return {**super().get_config(), **own}
