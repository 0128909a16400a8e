"""Additive attention: a one-layer network scores a query and a key."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import additive_scores
from keras_attention.ops import product
from keras_attention.ops import unit_vectors


@keras.saving.register_keras_serializable(package="keras_attention")
class BahdanauAttention(AbstractKernelLayer, AbstractAttention):
    """Attends with scores from a network with one hidden layer.

    Formula:

        score(q, k) = v . tanh(q Wq + k Wk)
        normalized: score(q, k) = g v / |v| . tanh(q Wq + k Wk + b)

    Query and key may differ in size: both are projected to `units`. Scores are
    bounded by `sum |v|`. With `normalize`, the learned scalar `g` sets their
    scale; its initial value is `1 / sqrt(units)`.

    Args:
        units: Size of the network's hidden layer, positive.
        normalize: Whether to use the weight-normalized form with a bias.
            Defaults to `False`.
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
        ValueError: If `units` is not a positive integer.

    Example:

    >>> attention = BahdanauAttention(16)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), appendix
        A.1.2; normalization by
        [Salimans and Kingma, 2016](https://arxiv.org/abs/1602.07868), eq. 2.
    """

    compares_pairs = True
    score_margin = 0

    def __init__(
        self,
        units: int,
        normalize: bool = False,
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
        self.normalize = normalize

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
        if self.normalize:
            self.gain = self.add_weight(
                name="gain",
                shape=(),
                initializer=keras.initializers.Constant(
                    1 / math.sqrt(self.units)
                ),
                autocast=False,
            )
            self.bias = self.add_bias("bias", self.units)

    def project_query(self, query):
        return product(query, self.query_kernel)  # (B, Tq, U)

    def project_keys(self, key):
        keys = product(key, self.key_kernel)
        if self.normalize:
            keys = keys + ops.cast(self.bias, keys.dtype)
        return keys

    def score(self, query, keys):
        vector = self.score_vector
        if self.normalize:
            vector = self.gain * unit_vectors(vector)
        return additive_scores(query, keys, vector)  # (B, Tq, Tv)
