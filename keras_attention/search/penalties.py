"""Penalties of length and coverage in the score of a hypothesis."""

import math

import numpy as np
from keras import ops

from keras_attention.checks import shapes_agree
from keras_attention.ops.numerics import widen

UNSEEN = 1e-37  # a position never attended counts as this: its log is -85.2
LARGEST = 1e30  # of a penalty, with which scores stay finite in float32


def check_power(power: float, max_length: int):
    """Check that the penalty of each length is a number in float32.

    Args:
        power: The exponent, a finite number.
        max_length: The largest length.

    Raises:
        ValueError: If the largest penalty is above 1e30, or below 1e-30.
    """
    if abs(power) * math.log((5 + max_length) / 6) > math.log(LARGEST):
        raise ValueError(
            "`length_penalty` must leave ((5 + max_length) / 6) ** "
            "length_penalty between 1e-30 and 1e30. Received: length_penalty="
            f"{power}, max_length={max_length}. 0.6 to 1 is usual."
        )


def length_penalties(
    power: float, max_length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the number that the log probability of each length is divided by.

    Formula:

        penalties[t] = ((5 + n) / 6)^power    of n = t + 1 tokens
        limits[t] = max of penalties[t:]      the largest from there on

    Args:
        power: The exponent.
        max_length: The largest `n`.

    Returns:
        Two arrays `(max_length + 1,)`. Their last entries repeat those of the
        largest `n`.
    """
    lengths = np.minimum(np.arange(1.0, max_length + 2), max_length)
    penalties = ((5 + lengths) / 6) ** power
    return penalties, np.maximum.accumulate(penalties[::-1])[::-1]


def coverage_scores(coverage, mask, weight: float):
    """Score how much of the source was attended; 0 is all of it.

    Formula:

        score = weight * sum_i log(min(c_i, 1))    over real positions i

    The logarithm of a position that was never attended is minus infinity,
    with which all hypotheses would be alike. So `c` counts as at least
    `1e-37`, the smallest number that float32 safely holds: a hypothesis that
    leaves out less has the higher score.

    Args:
        coverage: `(B, K, Tv)`, the sum of the weights of all steps so far.
        mask: Boolean `(B, Tv)`, `True` at real positions, or `None`.
        weight: The factor.

    Returns:
        `(B, K)`, in float32 or wider.

    Raises:
        ValueError: If the mask has another `Tv`.
    """
    if mask is not None and not shapes_agree(
        mask.shape[1:], coverage.shape[2:]
    ):
        raise ValueError(
            "`memory_mask` must have a boolean for every position that is "
            f"attended to. Received: memory_mask.shape={tuple(mask.shape)} for "
            f"weights of {coverage.shape[2]} positions. Give the mask of the "
            "memory, not of another sequence."
        )
    covered = ops.clip(widen(coverage), UNSEEN, 1.0)
    if mask is not None:
        covered = ops.where(ops.expand_dims(mask, 1), covered, 1.0)
    return weight * ops.sum(ops.log(covered), axis=-1)
