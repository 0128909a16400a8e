"""The base of additive scores that depend on where a decoder has looked."""

from keras import ops

from keras_attention.attention.additive import AbstractAdditiveAttention
from keras_attention.ops import additive_scores
from keras_attention.ops import product


class AbstractHistoryAttention(AbstractAdditiveAttention):
    """Adds features of the earlier weights to the keys of additive scores.

    Formula:

        score(q, k) = v . tanh(q Wq + k Wk + features(history) + b)

    A subclass writes `features`, from the history `(B, K, Tv)` to `(B, K, Tv,
    U)`, and what that history is: `first_history` and `next_history`.

    Args:
        **kwargs: Arguments of `AbstractAdditiveAttention`, such as `units`.
    """

    remembers = True

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.add_bias()

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
