"""Models small enough to search by hand: a table of transitions."""

import numpy as np
from keras import ops

from keras_attention.search import Generation


def random_tables(order, seed, rows=1, classes=6, words=4, dtype="float64"):
    """Draw a table per row, `log p` after the last `order` tokens.

    Returns:
        `log_probs (B, V, ..., V)` and, for attention, `weights (B, V, Tv)`
        that depend on the last token.
    """
    draw = np.random.default_rng(seed).normal
    scores = 2 * draw(size=(rows, *[classes] * order, classes))
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    weights = np.exp(draw(size=(rows, classes, words)))
    weights /= weights.sum(-1, keepdims=True)
    return log_probs.astype(dtype), weights.astype(dtype)


def take(table, rows, *ids):
    """`table[row, *ids]` for `ids (B, K)`, on `keras.ops`."""
    table = ops.convert_to_tensor(table, table.dtype)
    index = ops.expand_dims(rows, 1)
    for axis, token in enumerate(ids, start=1):
        index = index * table.shape[axis] + token
    axes = table.shape[len(ids) + 1 :]
    return ops.take(ops.reshape(table, (-1, *axes)), index, axis=0)


def first_order(log_probs, weights=None):
    """The step of a model whose next token depends on the last alone.

    Its state is the number of its row, so that rows may be searched together
    or in another order.
    """

    def step(tokens, state):
        row = state["row"][:, 0]
        attended = None if weights is None else take(weights, row, tokens)
        return take(log_probs, row, tokens), state, attended

    return step


def second_order(log_probs, weights=None):
    """The step of a model whose next token depends on the last two."""

    def step(tokens, state):
        row, before = state["row"][:, 0], state["before"]
        attended = None if weights is None else take(weights, row, tokens)
        state = {**state, "before": tokens}
        return take(log_probs, row, before, tokens), state, attended

    return step


def rows_state(rows, start_id=2):
    """The state of the two models above, for these rows of the tables."""
    rows = np.array(rows, "int32")[:, None]
    return {"row": rows, "before": np.full_like(rows, start_id), "no": None}


def history_tables(seed, rows=1, classes=4, length=4, words=3):
    """Draw `log p` and weights for every history that a row can have.

    No two texts are made of the same numbers, so that none score alike. A
    history is a node of a tree: `(B, nodes, V)` and `(B, nodes, Tv)`.
    """
    rng = np.random.default_rng(seed)
    nodes = sum(classes**t for t in range(length))
    scores = 2 * rng.normal(size=(rows, nodes, classes))
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    weights = rng.dirichlet(np.full(words, 0.5), size=(rows, nodes))
    return log_probs, weights


def node_of(history, classes):
    """The node where a history ends; the empty one is at the root."""
    node = 0
    for token in history:
        node = node * classes + 1 + token
    return node


def whole_history(log_probs, weights=None):
    """The step of a model whose next token depends on all before it."""

    def step(tokens, state):
        row, node = state["row"][:, 0], state["node"]
        below = node * log_probs.shape[-1] + 1 + tokens
        node = ops.where(node < 0, 0, below)  # the first step, at the root
        attended = None if weights is None else take(weights, row, node)
        return take(log_probs, row, node), {**state, "node": node}, attended

    return step


def root_state(rows):
    """The state of `whole_history` for these rows of its tables."""
    rows = np.array(rows, "int32")[:, None]
    return {"row": rows, "node": np.full_like(rows, -1)}


def arrays(found):
    """A `Generation` in NumPy."""
    return Generation(
        *[None if x is None else ops.convert_to_numpy(x) for x in found]
    )
