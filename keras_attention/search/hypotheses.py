"""Hypotheses of a beam search: how they begin and are selected."""

import math
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import numpy as np
from keras import ops
from keras import tree

from keras_attention.backend import backend
from keras_attention.ops.numerics import widen
from keras_attention.ops.rows import take_rows
from keras_attention.search.base import Generation
from keras_attention.search.candidates import Candidates
from keras_attention.search.loop import write


class Beams(NamedTuple):
    """The hypotheses of every row, in `K` parallel beams.

    Attributes:
        position: Scalar int32, the number of tokens so far.
        words: `(B, K)` int32, the tokens that the next step reads.
        alive: `(B, K)` boolean, `False` after the end token and if there is no
            hypothesis.
        sums: `(B, K)`, the sum of the log probabilities of all tokens; `None`
            without penalties.
        scores: `(B, K)`, this sum with penalties.
        lengths: `(B, K)` int32, the number of tokens, including the end token.
        state: What the step returned, leaves `(B, K, ...)`.
        tokens: `(B, K, T)` int32, or `None` before the first token.
        weights: `(B, K, T, Tv)`, or `None`.
        coverage: `(B, K, Tv)`, the sum of the weights of all steps, or `None`.
        token_scores: `(B, K, T)`, the log probability of every token, or `None`
            before the first token.
    """

    position: Any
    words: Any
    alive: Any
    sums: Any
    scores: Any
    lengths: Any
    state: Any
    tokens: Any = None
    weights: Any = None
    coverage: Any = None
    token_scores: Any = None

    def texts(self) -> Generation:
        """Return the hypotheses as a `Generation`, in their current order."""
        found = self.tokens, self.scores, self.lengths, self.weights
        return Generation(*found, self.token_scores)


def begin_beams(
    search, step: Callable, state, batch_size, groups: int = 1
) -> tuple[Beams, tuple]:
    """Take the first step with one beam, and copy its results to all beams.

    Args:
        search: An `AbstractSearch` with a `beam_size`, which is `K`.
        step: As in `AbstractSearch`.
        state: As in `AbstractSearch`, with one beam.
        batch_size: As in `AbstractSearch`.
        groups: Number of groups of equal size into which the beams are split.
            At first, the beams of a group are equal, so that only the first
            beam of each group is alive.

    Returns:
        `Beams` without tokens, and the results of the step for `K` beams:
        `log_probs (B, K, V)`, state, `weights (B, K, Tv)` or `None`.
    """
    size = search.beam_size

    def spread(x):
        if x is None:
            return None
        # The converter to ONNX loses sizes behind `ops.repeat`.
        return ops.concatenate(size * [ops.convert_to_tensor(x)], axis=1)

    words = ops.full((batch_size, 1), search.start_id, "int32")
    found = tree.map_structure(spread, tuple(step(words, state)))
    first = ops.convert_to_tensor(np.arange(size) % (size // groups) == 0)
    alive = ops.logical_and(ops.equal(words, search.start_id), first)
    sums = ops.where(alive, 0.0, -math.inf)
    sums = ops.cast(sums, widen(found[0]).dtype)
    zeros = ops.zeros_like(alive, "int32")
    beams = Beams(
        position=ops.zeros((), "int32"),
        words=zeros,
        alive=alive,
        sums=sums,
        scores=sums,
        lengths=zeros,
        state=found[1],
    )
    return beams, found


def select_beams(
    search,
    beams: Beams,
    found: tuple,
    candidates: Candidates,
    best,
    scores=None,
) -> Beams:
    """Select the best candidates as the next beams.

    Args:
        search: The `AbstractSearch` whose `end_id` and `max_length` apply.
        beams: The `Beams` so far.
        found: The results of the step for these beams.
        candidates: The `Candidates (B, K, C)` of these beams.
        best: `(B, K)` int32, the indices of the candidates to keep, in order,
            from 0 to `K C - 1`: candidate `c` of beam `k` has the index
            `k C + c`.
        scores: `(B, K)`, the scores of these candidates, if already known, such
            as from `ops.top_k`. Defaults to `None`: they are looked up.

    Returns:
        `Beams` with one more token.
    """
    log_probs, state, weights = found
    count, size = candidates.ids.shape[-1], search.beam_size
    rows = ops.expand_dims(ops.arange(ops.shape(best)[0], dtype="int32"), 1)
    chosen = best + size * count * rows  # of all candidates of all rows
    parents = best // count
    places = parents + size * rows

    def pick(x):  # (B, K, C) to (B, K)
        return take_rows(ops.reshape(x, (-1,)), chosen)

    def follow(x):
        return None if x is None else backend.take_beams(x, parents, places)

    def put(buffer, x):
        return write(follow(buffer), beams.position, x, search.max_length)

    words = pick(candidates.ids)
    ends = places * ops.shape(log_probs)[-1] + words
    gains = take_rows(ops.reshape(widen(log_probs), (-1,)), ends)
    scores = pick(candidates.scores) if scores is None else scores
    was_alive = follow(beams.alive)
    going_on = ops.logical_and(
        ops.not_equal(words, search.end_id), ops.greater(scores, -math.inf)
    )
    gains = ops.where(was_alive, gains, ops.zeros_like(gains))
    if weights is not None:
        alive = ops.expand_dims(beams.alive, -1)
        weights = ops.where(alive, weights, ops.zeros_like(weights))
        weights = put(beams.weights, follow(weights))
    return Beams(
        position=beams.position + 1,
        words=ops.where(was_alive, words, search.end_id),
        alive=ops.logical_and(was_alive, going_on),
        sums=pick(candidates.sums),
        scores=scores,
        lengths=follow(beams.lengths) + ops.cast(was_alive, "int32"),
        state=tree.map_structure(follow, state),
        tokens=put(beams.tokens, ops.where(was_alive, words, 0)),
        weights=weights,
        coverage=follow(candidates.coverage),
        token_scores=put(beams.token_scores, gains),
    )


def take_beams(x, index):
    """Take beams by index, for every row.

    Args:
        x: `(B, N, ...)`.
        index: Int32 `(B, K)`, from 0 to `N - 1`.

    Returns:
        `(B, K, ...)`.
    """
    rows, beams = ops.shape(x)[:2]
    places = index + beams * ops.arange(rows, dtype="int32")[:, None]
    return backend.take_beams(x, index, places)
