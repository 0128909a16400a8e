"""The loop of searches with one hypothesis per row."""

import math
from collections.abc import Callable

from keras_attention.backend import ops
from keras_attention.ops.numerics import widen
from keras_attention.search.base import Generation
from keras_attention.search.base import loop_while
from keras_attention.search.base import writer
from keras_attention.search.constraints import forbid
from keras_attention.search.constraints import force
from keras_attention.search.hypotheses import Beams
from keras_attention.search.hypotheses import take_beams


def follow_path(
    search,
    take: Callable,
    step: Callable,
    state,
    batch_size,
    prefix=None,
    max_length=None,
) -> Generation:
    """Generate one token at a time until every row has ended.

    A row that ends before the others is still passed to the step, with end
    tokens; its results are dropped.

    Args:
        search: The `AbstractSearch` whose limits and ids apply.
        take: A function `take(log_probs, position)` that returns the next
            tokens `(B, 1)`, int32. It receives `log_probs (B, 1, V)` in float32
            or wider, with forbidden tokens at `-inf`, and the position, a
            scalar.
        step: As in `AbstractSearch`.
        state: As in `AbstractSearch`.
        batch_size: As in `AbstractSearch`.
        prefix: `(B, P)` int32, or `None`.
        max_length: Scalar, the maximum number of tokens, at most the
            `max_length` of the search. Defaults to `None`, the `max_length` of
            the search.

    Returns:
        A `Generation` with one hypothesis per row: `tokens (B, 1, T)`,
        `scores (B, 1)`, `lengths (B, 1)`, `weights (B, 1, T, Tv)` or `None`,
        and `token_scores (B, 1, T)`, the log probabilities of the tokens
        according to the model. The score is the sum of the `token_scores`.
    """

    def grow(path):
        return _grow(path, search, take, step, prefix)

    longest = search.max_length if max_length is None else max_length
    shape = batch_size, 1
    path = Beams(
        position=ops.zeros((), "int32"),
        words=ops.full(shape, search.start_id, "int32"),
        alive=ops.ones(shape, "bool"),
        sums=None,
        scores=ops.zeros(shape, "float32"),
        lengths=ops.zeros(shape, "int32"),
        state=state,
    )
    path = loop_while(
        lambda path: ops.any(path.alive), grow, grow(path), longest - 1
    )
    return path.texts()


def _grow(path, search, take, step, prefix):
    position, alive, length = path.position, path.alive, search.max_length
    log_probs, state, weights = step(path.words, path.state)
    log_probs = widen(log_probs)  # (B, 1, V)
    allowed = forbid(search, log_probs, path.tokens, position)
    words = take(allowed, position)  # (B, 1)
    gains = take_beams(ops.squeeze(allowed, axis=1), words)
    if prefix is not None:
        only = words[..., None], gains[..., None]  # of one candidate
        only = force(prefix, position, log_probs, *only)
        words, gains = (ops.squeeze(x, axis=-1) for x in only)
    gains = ops.where(alive, gains, 0.0)
    scores = ops.add(path.scores, gains)
    put, after = writer(position, length), position + 1
    if weights is not None:
        real = ops.expand_dims(alive, -1)
        weights = ops.where(real, weights, 0.0)
        weights = put(path.weights, weights)
    going_on = ops.logical_and(
        ops.not_equal(words, search.end_id), ops.greater(scores, -math.inf)
    )
    return path._replace(
        position=after,
        words=ops.where(alive, words, search.end_id),
        alive=ops.logical_and(alive, going_on),
        scores=scores,
        lengths=ops.where(alive, after, path.lengths),
        state=state,
        tokens=put(path.tokens, ops.where(alive, words, 0)),
        weights=weights,
        token_scores=put(path.token_scores, gains),
    )
