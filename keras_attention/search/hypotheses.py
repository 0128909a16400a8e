"""Hypotheses of a beam search, their candidates, and the selection of both."""

import math
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import numpy as np
from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_shape
from keras_attention.ops.numerics import cast
from keras_attention.ops.numerics import widen
from keras_attention.ops.rows import at_most
from keras_attention.ops.rows import take_rows
from keras_attention.ops.rows import top_k
from keras_attention.search.base import Generation
from keras_attention.search.base import writer
from keras_attention.search.constraints import forbid
from keras_attention.search.constraints import force

UNSEEN = 1e-37  # a position never attended counts as this: its log is -85.2


class Candidates(NamedTuple):
    """The `C` candidates of each of `K` hypotheses, most likely first.

    `C` is the smaller of `beam_size` and the vocabulary size, which is enough
    to contain the `beam_size` best candidates of all hypotheses. A finished
    hypothesis has one candidate, the first one: itself. Missing candidates have
    the score `-inf`.

    Attributes:
        ids: `(B, K, C)` int32, the tokens.
        sums: `(B, K, C)`, the sums of the log probabilities of all tokens;
            `None` if the scores are these sums.
        scores: `(B, K, C)`, these sums with penalties.
        coverage: `(B, K, Tv)`, the sum of the weights of all steps; `None`
            without a coverage penalty.
    """

    ids: Any
    sums: Any
    scores: Any
    coverage: Any = None


def extend_beams(
    search,
    beams,
    found: tuple,
    memory_mask=None,
    prefix=None,
    length_penalty: float = 0.0,
    coverage_penalty: float = 0.0,
) -> Candidates:
    """List and score the candidates of each hypothesis for one step.

    Args:
        search: An `AbstractSearch` with a `beam_size`, whose options apply.
        beams: The `Beams` so far.
        found: The results of the step for these beams: `log_probs (B, K, V)`,
            state, `weights (B, K, Tv)` or `None`.
        memory_mask: Boolean `(B, Tv)`, or `None`.
        prefix: `(B, P)` int32, or `None`.
        length_penalty: As in `BeamSearch`.
        coverage_penalty: As in `BeamSearch`.

    Returns:
        `Candidates`.

    Raises:
        ValueError: If there is a coverage penalty and the step returned no
            weights.
    """
    log_probs, _, weights = found
    coverage = _cover(beams, weights, coverage_penalty)
    ids, sums = _extend(search, beams, widen(log_probs), prefix)
    exists = ops.greater(sums, -math.inf)  # NaN is not
    if beams.sums is None:
        return Candidates(ids, None, ops.where(exists, sums, -math.inf))
    scores = sums
    if length_penalty:
        penalties, _ = length_penalties(length_penalty, search.max_length)
        penalties = ops.convert_to_tensor(penalties, sums.dtype)
        scores = sums / take_rows(penalties, beams.position)
    if coverage is not None:
        term = coverage_scores(coverage, memory_mask, coverage_penalty)
        scores = scores + ops.cast(term, scores.dtype)[..., None]
    ended = ops.where(exists, ops.expand_dims(beams.scores, -1), -math.inf)
    scores = ops.where(ops.expand_dims(beams.alive, -1), scores, ended)
    scores = ops.where(exists, scores, -math.inf)
    return Candidates(ids, sums, scores, coverage)


def _extend(search, beams, log_probs, prefix):
    """Return the ids and sums of the candidates, `(B, K, C)` each."""
    allowed = forbid(search, log_probs, beams.tokens, beams.position)
    count = at_most(search.beam_size, log_probs)
    gains, ids = top_k(allowed, count)
    ids, gains = force(prefix, beams.position, log_probs, ids, gains)
    itself = np.array([0.0] + (count - 1) * [-math.inf], "float32")
    itself = cast(itself, gains.dtype)
    gains = ops.where(ops.expand_dims(beams.alive, -1), gains, itself)
    sums = beams.scores if beams.sums is None else beams.sums
    return ids, ops.expand_dims(sums, -1) + gains


def _cover(beams, weights, penalty):
    """Add up the weights of all steps, if there is a coverage penalty."""
    if not penalty:
        return None
    if weights is None:
        raise ValueError(
            "`coverage_penalty` needs a step that returns weights. Received: "
            f"coverage_penalty={penalty}, weights=None. For a model without "
            "attention, set it to 0."
        )
    weights = widen(weights)
    return weights if beams.coverage is None else beams.coverage + weights


def length_penalties(
    power: float, max_length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the divisor of the log probability for each length.

    Formula:

        penalties[t] = ((5 + n) / 6)^power    of n = t + 1 tokens
        limits[t] = max of penalties[t:]      the largest from there on

    Args:
        power: The exponent.
        max_length: The largest `n`.

    Returns:
        Two arrays `(max_length + 1,)`, whose last entries repeat those of the
        largest `n`.
    """
    lengths = np.minimum(np.arange(1.0, max_length + 2), max_length)
    penalties = ((5 + lengths) / 6) ** power
    return penalties, np.maximum.accumulate(penalties[::-1])[::-1]


def coverage_scores(coverage, mask, weight: float):
    """Score how much of the source was attended to; 0 is all of it.

    Formula:

        score = weight * sum_i log(min(c_i, 1))    over valid positions i

    For a position that was never attended to, the logarithm would be minus
    infinity, and all such hypotheses would have the same score. Therefore `c`
    is at least `1e-37`, the smallest number that float32 can safely represent,
    so that a hypothesis that leaves out less has a higher score.

    Args:
        coverage: `(B, K, Tv)`, the sum of the weights of all steps so far.
        mask: Boolean `(B, Tv)`, `True` at valid positions, or `None`.
        weight: The factor.

    Returns:
        `(B, K)`, in float32 or wider.

    Raises:
        ValueError: If the mask has a different `Tv`.
    """
    covered = ops.clip(widen(coverage), UNSEEN, 1.0)
    if mask is not None:
        needs = "`memory_mask` must have a boolean for each position"
        way_out = "Pass the mask of the memory, not of another sequence."
        wanted = ("B", coverage.shape[2])
        check_shape(needs, "memory_mask", mask.shape, wanted, way_out)
        covered = ops.where(ops.expand_dims(mask, 1), covered, 1.0)
    return weight * ops.sum(ops.log(covered), axis=-1)


class Beams(NamedTuple):
    """The hypotheses of every row, in `K` parallel beams.

    Attributes:
        position: Scalar int32, the number of tokens so far.
        words: `(B, K)` int32, the tokens that the next step reads.
        alive: `(B, K)` boolean, `False` after the end token and if there is no
            hypothesis.
        sums: `(B, K)`, the sum of the log probabilities of all tokens; `None`
            if the scores are these sums.
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
    parents = best // count
    take_parents = backend.beam_taker(parents, size)
    write_now = writer(beams.position, search.max_length)

    def follow(x):
        return None if x is None else take_parents(x)

    def put(buffer, x):
        return write_now(follow(buffer), x)

    pick = _picker(best, size * count)  # (B, K, C) to (B, K)
    words = pick(candidates.ids)
    classes = ops.shape(log_probs)[-1]
    gains = _picker(parents * classes + words, size * classes)(log_probs)
    scores = pick(candidates.scores) if scores is None else scores
    was_alive, position = follow(beams.alive), beams.position + 1
    going_on = ops.logical_and(
        ops.not_equal(words, search.end_id), ops.greater(scores, -math.inf)
    )
    if weights is not None:
        alive = ops.expand_dims(was_alive, -1)
        weights = ops.where(alive, follow(weights), 0.0)
        weights = put(beams.weights, weights)
    return Beams(
        position=position,
        words=ops.where(was_alive, words, search.end_id),
        alive=ops.logical_and(was_alive, going_on),
        sums=None if candidates.sums is None else pick(candidates.sums),
        scores=scores,
        lengths=ops.where(was_alive, position, follow(beams.lengths)),
        state=tree.map_structure(follow, state),
        tokens=put(beams.tokens, ops.where(was_alive, words, 0)),
        weights=weights,
        coverage=follow(candidates.coverage),
        token_scores=put(
            beams.token_scores, ops.where(was_alive, widen(gains), 0.0)
        ),
    )


def _picker(index, size):
    """Return a function that picks entries of all `N` beams of each row.

    Args:
        index: Int32 `(B, K)`.
        size: Number of entries of each row.

    Returns:
        A function from `(B, N, C)` to `(B, K)`, where `N C` is the size.
    """
    take = backend.beam_taker(index, size)
    return lambda x: take(ops.reshape(x, (-1, size)))


def take_beams(x, index):
    """Take beams by index, for every row.

    Args:
        x: `(B, N, ...)`.
        index: Int32 `(B, K)`, from 0 to `N - 1`.

    Returns:
        `(B, K, ...)`.
    """
    return backend.beam_taker(index, ops.shape(x)[1])(x)
