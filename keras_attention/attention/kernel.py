"""Kernel attention: weights are a Gaussian of the distance to each key."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_number
from keras_attention.checks import check_same_features
from keras_attention.ops import widen


@keras.saving.register_keras_serializable(package="keras_attention")
class KernelAttention(AbstractAttention):
    """Attends to the keys that are near the query.

    Formula:

        score(q, k) = -|q - k|^2 / (2 h^2)

    With softmax, the context is the Nadaraya-Watson regression of values on
    keys, with a Gaussian kernel of bandwidth `h`. A small `h` selects the
    nearest key; a large `h` averages all values. Scores are computed from
    differences, not from squares and inner products, so that keys far from 0,
    such as years, lose no precision.

    Args:
        bandwidth: Initial value of `h`, positive. Defaults to `1.0`.
        learn_bandwidth: Whether training may change `h`. Defaults to `True`.
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
        ValueError: If `bandwidth <= 0`, or if query and key differ in size.

    Example:

    >>> attention = KernelAttention(bandwidth=0.5)
    >>> x, y = np.ones((1, 7, 1)), np.ones((1, 7, 2))
    >>> tuple(attention(np.ones((1, 3, 1)), y, key=x).shape)
    (1, 3, 2)

    Reference:
        Nadaraya, 1964, [On estimating
        regression](https://doi.org/10.1137/1109020); Watson, 1964, "Smooth
        regression analysis".
    """

    compares_pairs = True
    score_margin = 0

    def __init__(
        self,
        bandwidth: float = 1.0,
        learn_bandwidth: bool = True,
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
        self.bandwidth = check_number("bandwidth", bandwidth, above=0)
        self.learn_bandwidth = learn_bandwidth

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        check_same_features(self, query_shape, key_shape)
        self.log_bandwidth = self.add_weight(
            name="log_bandwidth",
            shape=(),
            initializer=keras.initializers.Constant(math.log(self.bandwidth)),
            trainable=self.learn_bandwidth,
            autocast=False,
        )

    def score(self, query, keys):
        query, keys = widen(query), widen(keys)
        apart = ops.expand_dims(query, 2) - ops.expand_dims(keys, 1)
        squares = ops.sum(ops.square(apart), axis=-1)  # (B, Tq, Tv)
        log_bandwidth = ops.cast(self.log_bandwidth, squares.dtype)
        return -squares * ops.exp(-2 * log_bandwidth) / 2
