"""Additive scores, `v . tanh(q + k)`, of every query with every key."""

from keras import ops

from keras_attention.ops.numerics import tanh


def additive_scores(query, keys, vector):
    """Score projected queries against projected keys by a small network.

    Formula:
        score[i, j] = sum_u vector[u] * tanh(query[i, u] + keys[j, u])

    Args:
        query: Projected queries `(B, Tq, U)`.
        keys: Projected keys `(B, Tv, U)`.
        vector: `(U,)`.

    Returns:
        Scores `(B, Tq, Tv)`.
    """
    pairs = ops.expand_dims(query, 2) + ops.expand_dims(keys, 1)
    hidden = tanh(pairs)  # (B, Tq, Tv, U)
    return ops.sum(hidden * ops.cast(vector, hidden.dtype), axis=-1)
