"""Candidates: hypotheses extended by their most likely tokens."""

import math
from typing import Any
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_attention.checks import check_shape
from keras_attention.ops.numerics import widen
from keras_attention.ops.rows import at_most
from keras_attention.ops.rows import take_rows
from keras_attention.ops.rows import top_k
from keras_attention.search.constraints import forbid
from keras_attention.search.constraints import force
from keras_attention.search.loop import choose

UNSEEN = 1e-37  # a position never attended counts as this: its log is -85.2


class Candidates(NamedTuple):
    """The `C` candidates of each of `K` hypotheses, most likely first.

    `C` is the smaller of `beam_size` and the vocabulary size, which is enough
    to contain the `beam_size` best candidates of all hypotheses. A finished
    hypothesis has one candidate, the first one: itself. Missing candidates have
    the score `-inf`.

    Attributes:
        ids: `(B, K, C)` int32, the tokens.
        sums: `(B, K, C)`, the sums of the log probabilities of all tokens.
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
    alive = ops.expand_dims(beams.alive, -1)
    coverage = _cover(beams, weights, coverage_penalty)
    ids, sums = _extend(search, beams, widen(log_probs), prefix)
    scores = sums
    if length_penalty:
        penalties, _ = length_penalties(length_penalty, search.max_length)
        penalties = ops.convert_to_tensor(penalties, sums.dtype)
        scores = sums / take_rows(penalties, beams.position)
    if coverage is not None:
        term = coverage_scores(coverage, memory_mask, coverage_penalty)
        scores = scores + ops.cast(term, scores.dtype)[..., None]
    exists = ops.greater(sums, -math.inf)
    ended = ops.where(exists, ops.expand_dims(beams.scores, -1), -math.inf)
    scores = choose(alive, scores, ended)
    scores = ops.where(exists, scores, -math.inf)
    return Candidates(ids, sums, scores, coverage)


def _extend(search, beams, log_probs, prefix):
    """Return the ids and sums of the candidates, `(B, K, C)` each."""
    allowed = forbid(search, log_probs, beams.tokens, beams.position)
    count = at_most(search.beam_size, log_probs)
    gains, ids = top_k(allowed, count)
    ids, gains = force(prefix, beams.position, log_probs, ids, gains)
    first = ops.equal(ops.arange(count, dtype="int32"), 0)
    itself = ops.cast(ops.where(first, 0.0, -math.inf), gains.dtype)
    gains = choose(ops.expand_dims(beams.alive, -1), gains, itself)
    return ids, ops.expand_dims(beams.sums, -1) + gains


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
