"""Additive scores, `v . tanh(q + k)`, of every query with every key."""

from keras import ops

from keras_attention.ops.numerics import tanh
from keras_attention.ops.operations import Operation
from keras_attention.ops.operations import perform
from keras_attention.ops.products import plain_product
from keras_attention.ops.rows import reshaped


def additive_scores(query, keys, vector):
    """Score projected queries against projected keys by a small network.

    Formula:

        score[i, j] = sum_u vector[u] * tanh(query[i, u] + keys[j, u])

    Args:
        query: Projected queries `(B, Tq, U)`.
        keys: Projected keys `(B, Tv, U)`.
        vector: Weight of each unit, `(U,)`.

    Returns:
        Scores `(B, Tq, Tv)`.
    """
    return perform(ADDITIVE_SCORES, query, keys, ops.cast(vector, query.dtype))


def _hidden(query, keys):
    return tanh(ops.expand_dims(query, 2) + ops.expand_dims(keys, 1))


def _additive_scores(query, keys, vector):
    hidden = _hidden(query, keys)  # (B, Tq, Tv, U)
    scores = plain_product(hidden, ops.expand_dims(vector, -1))
    return ops.squeeze(scores, axis=-1)


def _vjp(dy, query, keys, vector):
    hidden = _hidden(query, keys)  # computed again, to save memory
    rows = ops.reshape(hidden, (-1, hidden.shape[-1]))
    of_vector = ops.reshape(dy, (1, -1)) @ rows
    # Products: to broadcast takes TensorFlow twice as long, and so does XLA's
    # sum over positions.
    slope = ops.reshape(dy, (-1, 1)) @ ops.expand_dims(vector, 0)
    slope = reshaped(slope, ops.shape(hidden)) * (1 - hidden * hidden)
    of_query = ops.expand_dims(ops.ones_like(dy), 2) @ slope
    return [ops.squeeze(of_query, axis=2), ops.sum(slope, axis=1), of_vector[0]]


ADDITIVE_SCORES = Operation(_additive_scores, _vjp)


def featured_additive_scores(query, keys, vector):
    """Score as `additive_scores`, with keys that differ for each query.

    Formula:

        score[i, j] = sum_u vector[u] * tanh(query[i, u] + keys[i, j, u])

    Args:
        query: Projected queries `(B, K, U)`.
        keys: Projected keys of each query, `(B, K, Tv, U)`.
        vector: Weight of each unit, `(U,)`.

    Returns:
        Scores `(B, K, Tv)`.
    """
    batch, beams, positions, units = ops.shape(keys)
    rows = batch * beams  # queries become rows: each has keys of its own
    scores = additive_scores(
        reshaped(query, (rows, 1, units)),
        reshaped(keys, (rows, positions, units)),
        vector,
    )
    return reshaped(scores, (batch, beams, positions))
