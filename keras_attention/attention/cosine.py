"""Content-based attention: score by the cosine of query and key."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_number
from keras_attention.checks import check_same_features
from keras_attention.ops import dot_scores
from keras_attention.ops import unit_vectors


@keras.saving.register_keras_serializable(package="keras_attention")
class CosineAttention(AbstractAttention):
    """Attends to the keys that have the same direction as the query.

    Formula:

        score(q, k) = beta * (q . k) / (|q| |k|)

    Only direction matters: multiplying a query by 10 does not change its
    weights. Because a cosine is between -1 and 1, `beta` sets how much the
    largest weight can differ from the others: with `beta=1` and 50 positions,
    even a perfect match gets a weight of at most 0.13.

    Args:
        beta: Initial value of the factor, positive. Defaults to `1.0`.
        learn_beta: Whether training may change `beta`. Defaults to `True`.
        alignment: How scores become weights, as in `AbstractAttention`.
            Defaults to `"softmax"`.
        dropout: Rate at which attention weights are dropped in training.
            Defaults to `0.0`.
        seed: Integer random seed. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, D)`, value `(B, Tv, Dv)`, key `(B, Tv, D)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractAttention`.

    Raises:
        ValueError: If `beta <= 0`, or if query and key differ in size.

    Example:

    >>> attention = CosineAttention(beta=5.0)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 8)))
    >>> tuple(context.shape)
    (2, 3, 8)

    Reference:
        [Graves et al., 2014](https://arxiv.org/abs/1410.5401), eqs. 5 and 6.
    """

    score_margin = 0

    def __init__(
        self,
        beta: float = 1.0,
        learn_beta: bool = True,
        *,
        alignment: str | dict | AbstractAlignment = "softmax",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(
            alignment=alignment,
            dropout=dropout,
            seed=seed,
            **kwargs,
        )
        self.beta = check_number("beta", beta, above=0)
        self.learn_beta = learn_beta

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        check_same_features(self, query_shape, key_shape)
        self.log_beta = self.add_weight(
            name="log_beta",
            shape=(),
            initializer=keras.initializers.Constant(math.log(self.beta)),
            trainable=self.learn_beta,
            autocast=False,
        )

    def project_query(self, query):
        return unit_vectors(query)

    def project_keys(self, key):
        return unit_vectors(key)

    def score(self, query, keys):
        cosines = dot_scores(query, keys)  # (B, Tq, Tv)
        return ops.exp(ops.cast(self.log_beta, cosines.dtype)) * cosines
