"""The base of additive scores that depend on where a decoder has looked."""

from keras import ops

from keras_attention.attention.projected import AbstractProjectedAttention
from keras_attention.checks import check_positive
from keras_attention.ops import additive_scores
from keras_attention.ops import product


class AbstractHistoryAttention(AbstractProjectedAttention):
    """Adds features of the earlier weights to the keys of additive scores.

    Formula:
        score(q, k) = v . tanh(q Wq + k Wk + features(history) + b)

    A subclass writes `features`, from the history `(B, K, Tv)` to `(B, K, Tv,
    U)`, and what that history is: `first_history` and `next_history`.

    Args:
        units: Size of the network's hidden layer, positive.
        **kwargs: Arguments of `AbstractProjectedAttention`.

    Raises:
        ValueError: If `units` is not positive.
    """

    remembers = True

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        check_positive("units", units)
        self.units = units

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
        self.bias = self.add_weight(
            name="bias",
            shape=(self.units,),
            initializer="zeros",
            autocast=False,
        )

    def project_keys(self, key):
        keys = product(key, self.key_kernel)
        return keys + ops.cast(self.bias, keys.dtype)

    def score(self, query, keys, history):
        query = product(query, self.query_kernel)  # (B, K, U)
        features = ops.cast(self.features(history), keys.dtype)
        keys = ops.expand_dims(keys, 1) + features  # (B, K, Tv, U)
        # Every query has keys of its own: it is a sentence of its own.
        batch, beams, words, units = ops.shape(keys)
        rows = batch * beams
        scores = additive_scores(
            ops.reshape(query, (rows, 1, units)),
            ops.reshape(keys, (rows, words, units)),
            self.score_vector,
        )
        return ops.reshape(scores, (batch, beams, words))

    def get_config(self):
        return {**super().get_config(), "units": self.units}
