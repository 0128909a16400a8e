"""Coverage attention: the score knows how much a position has had already."""

import keras
from keras import ops

from keras_attention.attention.history import AbstractHistoryAttention
from keras_attention.ops.coverage import coverage_loss


@keras.saving.register_keras_serializable(package="keras_attention")
class CoverageAttention(AbstractHistoryAttention):
    """Attends by an additive score that sees the sum of earlier weights.

    Formula:

        score(q, k_j) = v . tanh(q Wq + k_j Wk + c_j wc + b)
        c_j = sum of the weights that position j had in earlier steps

    The coverage `c` starts at zero and is kept in float32 or wider. What
    covers a position twice is not forbidden, only visible; the coverage loss
    makes it cost something. Called on whole sequences, in training or not,
    the layer adds `coverage_loss` times the mean of that loss over real
    queries, and so does an `AttentionDecoder` with such a layer in its cell.

    Args:
        units: Size of the network's hidden layer, positive.
        coverage_loss: Weight of the coverage loss, not negative. Defaults to
            `0.0`.
        **kwargs: Arguments of `AbstractHistoryAttention`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractMemoryAttention`.

    Raises:
        ValueError: If `units` is not positive, or `coverage_loss < 0`.

    Example:

    >>> attention = CoverageAttention(16, coverage_loss=1.0)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)
    >>> len(attention.losses)
    1

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eqs. 10 to 13.
    """

    def __init__(self, units: int, coverage_loss: float = 0.0, **kwargs):
        super().__init__(units, **kwargs)
        if coverage_loss < 0:
            raise ValueError(
                "`coverage_loss` must not be negative. Received: "
                f"coverage_loss={coverage_loss}. 0 is for no such loss."
            )
        self.coverage_loss = coverage_loss

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.coverage_vector = self.add_kernel("coverage_vector", (self.units,))

    def weights_loss(self, weights, query_mask=None):
        if not self.coverage_loss:
            return None
        return self.coverage_loss * coverage_loss(weights, query_mask)

    def first_history(self, real):
        return ops.zeros_like(real)

    def next_history(self, history, weights):
        return history + ops.cast(weights, history.dtype)

    def features(self, history):
        vector = ops.cast(self.coverage_vector, history.dtype)
        return ops.expand_dims(history, -1) * vector

    def get_config(self):
        return {**super().get_config(), "coverage_loss": self.coverage_loss}
