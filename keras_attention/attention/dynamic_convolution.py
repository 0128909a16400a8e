"""Dynamic convolution attention: the query moves the previous weights."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import featured_additive_scores
from keras_attention.ops import product
from keras_attention.ops import widen
from keras_attention.ops.numerics import tanh
from keras_attention.ops.numerics import windows
from keras_attention.ops.positions import first_true
from keras_attention.ops.rows import broadcast
from keras_attention.ops.rows import reshaped

LEAST = 1e-6  # of the prior, whose logarithm is a part of the score


@keras.saving.register_keras_serializable(package="keras_attention")
class DynamicConvolutionAttention(AbstractKernelLayer, AbstractAttention):
    """Attends by static and query-dependent convolutions of earlier weights.

    Formula:

        score_j = v . tanh(f_j Wf + g_j Wg + b) + log max(p_j, 1e-6) f = F * a,
        g = G(q) * a, p = P * a, convolutions of previous weights a G(q) =
        tanh(q Wq + bq) Vg, filters computed from the query P[i] =
        beta-binomial(i; prior_length - 1, prior_alpha, prior_beta)

    Scores depend on the weights of the previous step, not on the contents of
    the memory. Therefore, the layer generalizes to sequences much longer than
    those in training. The prior `P` only moves forward, by at most
    `prior_length - 1` positions. An untrained layer moves by the mean of `P` in
    each step: `(prior_length - 1) alpha / (alpha + beta)`, which is 1 by
    default. Beyond the span of `P`, scores are lower by `log 1e-6`. Before the
    first step, `a` is 1 at the first valid position; it is 0 beyond the ends of
    the source. Everything is computed in float32 or wider.

    Args:
        units: Size of both hidden layers, positive.
        static_filters: Number of filters in `F`, positive. Defaults to `8`.
        dynamic_filters: Number of filters in `G(q)`, positive. Defaults to
            `8`.
        kernel_size: Number of positions that each filter spans, positive; an
            odd size is centered. Defaults to `21`.
        prior_length: Number of positions that `P` spans, positive. Defaults
            to `11`.
        prior_alpha: First parameter of `P`, positive. Defaults to `0.1`.
        prior_beta: Second parameter of `P`, positive. Defaults to `0.9`.
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
        ValueError: If a size or a parameter of `P` is not positive.

    Example:

    >>> attention = DynamicConvolutionAttention(16, kernel_size=5)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Battenberg et al., 2020](https://arxiv.org/abs/1910.10288), section
        3.3.
    """

    remembers = True

    def __init__(
        self,
        units: int,
        static_filters: int = 8,
        dynamic_filters: int = 8,
        kernel_size: int = 21,
        prior_length: int = 11,
        prior_alpha: float = 0.1,
        prior_beta: float = 0.9,
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
        self.static_filters = check_integer("static_filters", static_filters)
        self.dynamic_filters = check_integer("dynamic_filters", dynamic_filters)
        self.kernel_size = check_integer("kernel_size", kernel_size)
        self.prior_length = check_integer("prior_length", prior_length)
        self.prior_alpha = check_number("prior_alpha", prior_alpha, above=0)
        self.prior_beta = check_number("prior_beta", prior_beta, above=0)
        self.score_margin = max(self.kernel_size // 2, self.prior_length - 1)

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        units, size = self.units, self.kernel_size
        self.query_kernel = self.add_kernel(
            "query_kernel", (query_shape[-1], units)
        )
        self.query_bias = self.add_bias("query_bias", units)
        self.filter_kernel = self.add_kernel(
            "filter_kernel", (units, size * self.dynamic_filters)
        )
        self.location_filters = self.add_kernel(
            "location_filters", (size, self.static_filters)
        )
        self.location_kernel = self.add_kernel(
            "location_kernel", (self.static_filters, units)
        )
        self.dynamic_kernel = self.add_kernel(
            "dynamic_kernel", (self.dynamic_filters, units)
        )
        self.score_vector = self.add_kernel("score_vector", (units,))
        self.bias = self.add_bias("bias", units)

    def project_query(self, query):
        hidden = product(widen(query), self.query_kernel)
        hidden = tanh(hidden + ops.cast(self.query_bias, hidden.dtype))
        return product(hidden, self.filter_kernel)  # (B, K, size * filters)

    def score(self, query, keys, history):
        size = self.kernel_size
        near = windows(history, (size - 1) // 2, size // 2)
        features = product(
            product(near, self.location_filters), self.location_kernel
        )
        features = features + product(
            self._convolve(near, query), self.dynamic_kernel
        )
        bias = ops.cast(self.bias, features.dtype)
        bias = broadcast(bias, (*ops.shape(features)[:2], self.units))
        scores = featured_additive_scores(bias, features, self.score_vector)
        return scores + ops.log(self._prior(history))

    def _convolve(self, near, filters):
        """Convolve with the filters of each query: `(B, K, Tv, filters)`."""
        batch, beams, words = ops.shape(near)[:3]
        rows, size = batch * beams, self.kernel_size
        filters = reshaped(filters, (rows, size, self.dynamic_filters))
        convolved = reshaped(near, (rows, words, size)) @ filters
        return reshaped(convolved, (batch, beams, words, self.dynamic_filters))

    def _prior(self, history):
        """Return the prior probability of each position, at least 1e-6."""
        length = self.prior_length
        chances = beta_binomial(length - 1, self.prior_alpha, self.prior_beta)
        earlier = windows(history, length - 1, 0)  # (B, K, Tv, length)
        chances = ops.convert_to_tensor(chances[::-1], history.dtype)
        prior = ops.sum(earlier * chances, axis=-1)
        return ops.where(prior > LEAST, prior, LEAST)

    def first_history(self, real):
        return first_true(real > 0, real.dtype)

    def next_history(self, history, weights):
        return ops.cast(weights, history.dtype)


def beta_binomial(count: int, alpha: float, beta: float) -> list[float]:
    """Return the probabilities of 0 to `count` successes in `count` draws.

    Args:
        count: Number of draws.
        alpha: First parameter of the beta distribution of a success.
        beta: Second parameter of that distribution.
    """

    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    return [
        math.exp(
            math.log(math.comb(count, k))
            + log_beta(k + alpha, count - k + beta)
            - log_beta(alpha, beta)
        )
        for k in range(count + 1)
    ]
