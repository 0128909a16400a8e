"""Rows of a table of embeddings, with one matrix as the gradient."""

from keras import ops


def take_words(table, ids):
    """Take rows of a table, so that its gradient is one matrix.

    On TensorFlow the gradient of `ops.take` is a list of rows, one for each
    id. If a word occurs several times, Adam of Keras squares its rows one by
    one, and clipping by a norm does too: other numbers than with their sum,
    which is the gradient.

    Args:
        table: `(V, E)`, a tensor or a Keras variable.
        ids: Integers from 0 to `V - 1`, `(...)`.

    Returns:
        `(..., E)`.
    """
    # The gradient of `reshape` sums the rows; otherwise it does nothing.
    return ops.take(ops.reshape(table, table.shape), ids, axis=0)
