"""Dot-product attention: multiplicative attention without a kernel."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_same_features
from keras_attention.ops import dot_scores


@keras.saving.register_keras_serializable(package="keras_attention")
class DotAttention(AbstractAttention):
    """Attends to the keys with the largest inner product with the query.

    Formula:

        score(q, k) = q . k
        "sqrt": score(q, k) = q . k / sqrt(D)
        "learned": score(q, k) = g q . k

    Multiplying a key by 2 doubles its score. If the features have unit
    variance, the standard deviation of the scores is `sqrt(D)`, which is 16 for
    256 features. The softmax is then almost one-hot. `"sqrt"` scales the
    standard deviation to 1.

    Args:
        scale: `None`, `"sqrt"`, or `"learned"` for a trainable factor `g` with
            the initial value 1. Defaults to `None`.
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
        ValueError: If `scale` is unknown, or if query and key differ in size.

    Example:

    >>> attention = DotAttention(scale="sqrt")
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 8)))
    >>> tuple(context.shape)
    (2, 3, 8)

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), section 3.1,
        "dot"; `"sqrt"`:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), eq. 1.
    """

    score_margin = 0

    def __init__(
        self,
        scale: str | None = None,
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
        check_choice("scale", scale, (None, "sqrt", "learned"))
        self._scale = self.scale = scale  # `build` sets a learned weight

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        check_same_features(self, query_shape, key_shape)
        if self._scale == "learned":
            self.scale = self.add_weight(
                name="scale", shape=(), initializer="ones", autocast=False
            )

    def score(self, query, keys):
        scores = dot_scores(query, keys)  # (B, Tq, Tv)
        if self._scale == "sqrt":
            return scores / math.sqrt(query.shape[-1])
        if self._scale == "learned":
            return ops.cast(self.scale, scores.dtype) * scores
        return scores

    def get_config(self) -> dict:
        return {**super().get_config(), "scale": self._scale}
