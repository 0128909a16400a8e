"""Additive attention: a small network scores each query with each key."""

import math

import keras
from keras import ops

from keras_attention.attention.additive import AbstractAdditiveAttention
from keras_attention.ops import additive_scores
from keras_attention.ops import product
from keras_attention.ops import unit_vectors


@keras.saving.register_keras_serializable(package="keras_attention")
class BahdanauAttention(AbstractAdditiveAttention):
    """Attends to the keys that a one-layer network picks for the query.

    Formula:

        score(q, k) = v . tanh(q Wq + k Wk)
        normalized: score(q, k) = g v / |v| . tanh(q Wq + k Wk + b)

    Query and key may differ in size: both are projected to `units`. A score
    never leaves [-sum|v|, sum|v|]. With `normalize` its scale is the one
    number `g`, which starts at `1 / sqrt(units)`.

    Args:
        units: Size of the network's hidden layer, positive.
        normalize: Whether to use the weight-normalized form with a bias.
            Defaults to `False`.
        **kwargs: Arguments of `AbstractProjectedAttention`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractMemoryAttention`.

    Raises:
        ValueError: If `units` is not positive.

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

    def __init__(self, units: int, normalize: bool = False, **kwargs):
        super().__init__(units, **kwargs)
        self.normalize = normalize

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        if self.normalize:
            self.gain = self.add_weight(
                name="gain",
                shape=(),
                initializer=keras.initializers.Constant(
                    1 / math.sqrt(self.units)
                ),
                autocast=False,
            )
            self.add_bias()

    def project_keys(self, key):
        keys = product(key, self.key_kernel)
        if self.normalize:
            keys = keys + ops.cast(self.bias, keys.dtype)
        return keys

    def score(self, query, keys):
        vector = self.score_vector
        if self.normalize:
            vector = self.gain * unit_vectors(vector)
        query = product(query, self.query_kernel)  # (B, Tq, U)
        return additive_scores(query, keys, vector)  # (B, Tq, Tv)

    def get_config(self):
        return {**super().get_config(), "normalize": self.normalize}
