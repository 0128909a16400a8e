"""Coverage attention: scores depend on the sum of earlier weights."""

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import featured_additive_scores
from keras_attention.ops import product
from keras_attention.ops.numerics import running_sum
from keras_attention.ops.numerics import widen


@keras.saving.register_keras_serializable(package="keras_attention")
class CoverageAttention(AbstractKernelLayer, AbstractAttention):
    """Attends by an additive score that includes the sum of earlier weights.

    Formula:

        score(q, k_j) = v . tanh(q Wq + k_j Wk + c_j wc + b)
        c_j = sum of the weights of position j in earlier steps

    The coverage `c` is the attention that each position has received so far. It
    starts at zero and is kept in float32 or wider. The coverage loss penalizes
    attending to the same positions again. A call of the layer on whole
    sequences adds this loss with `add_loss`: its mean over valid queries, times
    `coverage_loss`, in training and in inference. An `AttentionDecoder` whose
    cell contains this layer adds it in the same way.

    Args:
        units: Size of the network's hidden layer, positive.
        coverage_loss: Weight of the coverage loss, at least 0. Defaults to
            `0.0`.
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
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractAttention`.

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

    remembers = True
    score_margin = 0

    def __init__(
        self,
        units: int,
        coverage_loss: float = 0.0,
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
        self.units = check_integer("units", units)
        self.coverage_loss = check_number("coverage_loss", coverage_loss, 0)

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        self.query_kernel = self.add_kernel(
            "query_kernel", (query_shape[-1], self.units)
        )
        self.key_kernel = self.add_kernel(
            "key_kernel", (key_shape[-1], self.units)
        )
        self.score_vector = self.add_kernel("score_vector", (self.units,))
        self.bias = self.add_bias("bias", self.units)
        self.coverage_vector = self.add_kernel("coverage_vector", (self.units,))

    def auxiliary_loss(self, weights, query_mask=None):
        if not self.coverage_loss:
            return None
        return self.coverage_loss * coverage_loss(weights, query_mask)

    def project_query(self, query):
        return product(query, self.query_kernel)  # (B, K, U)

    def project_keys(self, key):
        keys = product(key, self.key_kernel)
        return keys + ops.cast(self.bias, keys.dtype)

    def score(self, query, keys, history):
        features = ops.cast(self.features(history), keys.dtype)
        keys = ops.expand_dims(keys, 1) + features  # (B, K, Tv, U)
        return featured_additive_scores(query, keys, self.score_vector)

    def first_history(self, real):
        return ops.zeros_like(real)

    def next_history(self, history, weights):
        return history + ops.cast(weights, history.dtype)

    def features(self, history):
        """Compute the coverage term of the score.

        Args:
            history: Coverage `(B, K, Tv)`.

        Returns:
            `c_j wc`, `(B, K, Tv, U)`.
        """
        vector = ops.cast(self.coverage_vector, history.dtype)
        return ops.expand_dims(history, -1) * vector


def coverage_loss(weights, mask=None):
    """Compute the coverage loss, which penalizes repeated attention.

    Formula:

        loss = mean over valid steps t of sum_j min(a[t, j], c[t, j])
        c[t] = a[0] + ... + a[t - 1], over valid steps

    It is 0 if no position is attended to twice, and at most 1. The mean is over
    the rows of all replicas of a distribution strategy. Each replica returns
    the whole mean, because Keras' trainer divides values passed to `add_loss`
    by the number of replicas.

    Args:
        weights: `(B, T, Tv)`, as returned by `AttentionDecoder`.
        mask: Boolean `(B, T)`, `True` at valid steps, or `None` for all.

    Returns:
        A scalar in float32 or wider, 0 if no step is valid.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eqs. 12 and 13.
    """
    weights = widen(ops.convert_to_tensor(weights))
    real = ops.ones(ops.shape(weights)[:2], weights.dtype)
    if mask is not None:
        real = ops.where(ops.cast(mask, "bool"), real, 0.0)
        weights = ops.where(ops.expand_dims(real, -1) > 0, weights, 0.0)
    weights = ops.swapaxes(weights, 1, 2)  # (B, Tv, T)
    before = running_sum(weights) - weights
    repeated = ops.sum(ops.where(weights < before, weights, before))
    repeated, steps = backend.sum_over_replicas([repeated, ops.sum(real)])
    return repeated / ops.maximum(steps, 1.0)
