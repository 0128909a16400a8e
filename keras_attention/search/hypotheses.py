"""Growing many hypotheses a row, a token at a time: beam search."""

import math
from typing import Any
from typing import NamedTuple

from keras import ops
from keras import tree

from keras_attention.ops.numerics import widen
from keras_attention.ops.top import at_most
from keras_attention.ops.top import top_k
from keras_attention.search.constraints import forbid
from keras_attention.search.constraints import force
from keras_attention.search.loop import as_tensors
from keras_attention.search.loop import choose
from keras_attention.search.loop import write
from keras_attention.search.penalties import coverage_scores
from keras_attention.search.penalties import length_penalties


class _Beams(NamedTuple):
    position: Any  # scalar, tokens so far
    words: Any  # (B, K), what the next step reads
    alive: Any  # (B, K), False after the end, and where there is none
    sums: Any  # (B, K), log probabilities added up
    scores: Any  # (B, K), the same with penalties, sorted
    lengths: Any  # (B, K)
    state: Any
    tokens: Any = None  # (B, K, T)
    weights: Any = None  # (B, K, T, Tv)
    coverage: Any = None  # (B, K, Tv), weights added up


def begin(search, step, state, batch_size):
    """Take the first step, with one beam, and make of it that of them all.

    Args:
        search: The `BeamSearch` whose options hold.
        step: As in `AbstractSearch`.
        state: As in `AbstractSearch`.
        batch_size: As in `AbstractSearch`.

    Returns:
        The beams, of which only the first is alive, and what the step gave,
        the same for every beam.
    """

    def spread(x):
        if x is None:
            return None
        return ops.repeat(ops.convert_to_tensor(x), search.beam_size, axis=1)

    words = ops.full((batch_size, 1), search.start_id, "int32")
    found = step(words, as_tensors(state))
    found = tree.map_structure(spread, tuple(found))
    alive = ops.equal(ops.arange(search.beam_size, dtype="int32"), 0)
    alive = ops.logical_and(ops.equal(words, search.start_id), alive)
    sums = ops.where(alive, 0.0, -math.inf)
    sums = ops.cast(sums, widen(found[0]).dtype)
    zeros = ops.zeros_like(alive, "int32")
    beams = _Beams(
        position=ops.zeros((), "int32"),
        words=zeros,
        alive=alive,
        sums=sums,
        scores=sums,
        lengths=zeros,
        state=found[1],
    )
    return beams, found


def grow(search, beams, found, memory_mask, prefix):
    """Extend every beam by every token, and keep the best.

    Args:
        search: The `BeamSearch` whose options hold.
        beams: The hypotheses so far.
        found: What the step gave for them.
        memory_mask: As in `AbstractSearch`.
        prefix: `(B, P)` int32, or `None`.

    Returns:
        The beams with one token more.
    """
    log_probs, state, weights = found
    weights = None if weights is None else ops.convert_to_tensor(weights)
    coverage = _cover(search, beams, weights)
    ids, sums = _extend(search, beams, log_probs, prefix)
    scores = _score(search, beams, sums, coverage, memory_mask)
    # Not over beams and tokens at once: the few best of each are enough.
    flat = (-1, search.beam_size * ids.shape[-1])
    scores, best = ops.top_k(ops.reshape(scores, flat), search.beam_size)
    best = ops.cast(best, "int32")  # (B, K)
    parents = best // ids.shape[-1]

    def follow(x):
        return None if x is None else take_beams(x, parents)

    words = take_beams(ops.reshape(ids, flat), best)
    was_alive = follow(beams.alive)
    going_on = ops.logical_and(
        ops.not_equal(words, search.end_id), ops.greater(scores, -math.inf)
    )

    def put(buffer, x):
        return write(follow(buffer), beams.position, x, search.max_length)

    if weights is not None:
        alive = beams.alive[..., None]
        weights = ops.where(alive, weights, ops.zeros_like(weights))
        weights = put(beams.weights, follow(weights))
    return _Beams(
        position=beams.position + 1,
        words=ops.where(was_alive, words, search.end_id),
        alive=ops.logical_and(was_alive, going_on),
        sums=take_beams(ops.reshape(sums, flat), best),
        scores=scores,
        lengths=follow(beams.lengths) + ops.cast(was_alive, "int32"),
        state=tree.map_structure(follow, state),
        tokens=put(beams.tokens, ops.where(was_alive, words, 0)),
        weights=weights,
        coverage=follow(coverage),
    )


def _extend(search, beams, log_probs, prefix):
    """List the candidates of each beam, with their log probabilities.

    Returns:
        Ids and sums `(B, K, C)`, best first. A beam that has ended has one
        candidate, itself.
    """
    log_probs = widen(ops.convert_to_tensor(log_probs))  # (B, K, V)
    allowed = forbid(search, log_probs, beams.tokens, beams.position)
    count = at_most(search.beam_size, log_probs)
    gains, ids = top_k(allowed, count)  # (B, K, C)
    ids, gains = force(prefix, beams.position, log_probs, ids, gains)
    first = ops.equal(ops.arange(count, dtype="int32"), 0)
    itself = ops.cast(ops.where(first, 0.0, -math.inf), gains.dtype)
    gains = choose(beams.alive[..., None], gains, itself)
    return ids, beams.sums[..., None] + gains


def _score(search, beams, sums, coverage, memory_mask):
    """Score the candidates; those of beams that have ended, as before."""
    penalties, _ = length_penalties(search.length_penalty, search.max_length)
    penalties = ops.convert_to_tensor(penalties, sums.dtype)
    scores = sums / ops.take(penalties, beams.position, axis=0)
    if coverage is not None:
        term = coverage_scores(coverage, memory_mask, search.coverage_penalty)
        scores = scores + ops.cast(term, scores.dtype)[..., None]
    exists = ops.greater(sums, -math.inf)
    ended = ops.where(exists, beams.scores[..., None], -math.inf)
    scores = choose(beams.alive[..., None], scores, ended)
    return ops.where(exists, scores, -math.inf)


def _cover(search, beams, weights):
    """Add up the weights of all steps, if their sum is asked for."""
    if not search.coverage_penalty:
        return None
    if weights is None:
        raise ValueError(
            "`coverage_penalty` needs a step that returns weights. Received: "
            f"coverage_penalty={search.coverage_penalty}, weights=None. A "
            "model without attention covers nothing: set it to 0."
        )
    weights = widen(weights)
    return weights if beams.coverage is None else beams.coverage + weights


def may_improve(search, beams):
    """Tell whether any beam can still reach the best `n_best` of its row.

    No sum grows, no coverage is better than complete, and no length divides
    by more than the limit: what is above that is final.
    """
    _, limits = length_penalties(search.length_penalty, search.max_length)
    limits = ops.convert_to_tensor(limits, beams.sums.dtype)
    bounds = beams.sums / ops.take(limits, beams.position, axis=0)
    ended = ops.where(beams.alive, -math.inf, beams.scores)
    worst = ops.top_k(ended, search.n_best)[0][:, -1:]  # of the best
    return ops.any(ops.logical_and(beams.alive, bounds >= worst))


def take_beams(x, index):
    """Take beams by their number, for every row.

    Through one flat axis, which is quicker than `take_along_axis`.

    Args:
        x: `(B, N, ...)`.
        index: Int32 `(B, K)`, from 0 to `N - 1`.

    Returns:
        `(B, K, ...)`.
    """
    rows, beams, *rest = ops.shape(x)
    places = index + beams * ops.arange(rows, dtype="int32")[:, None]
    return ops.take(ops.reshape(x, (rows * beams, *rest)), places, axis=0)
