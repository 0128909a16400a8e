"""What a hypothesis' length and coverage do to its score."""

import numpy as np
from keras import ops

from keras_attention.ops.numerics import widen

UNSEEN = 1e-37  # a position never attended counts as this: its log is -85.2


def length_penalties(power, max_length):
    """Compute what the log probability of each length is divided by.

    Formula:

        penalties[t] = ((5 + n) / 6)^power    of n = t + 1 tokens
        limits[t] = max of penalties[t:]      what longer ones may get

    Args:
        power: The number in the exponent.
        max_length: The largest `n`.

    Returns:
        Two NumPy arrays `(max_length + 1,)`, whose last entries are those of
        the largest `n` once more.
    """
    lengths = np.minimum(np.arange(1.0, max_length + 2), max_length)
    penalties = ((5 + lengths) / 6) ** power
    return penalties, np.maximum.accumulate(penalties[::-1])[::-1]


def coverage_scores(coverage, mask, weight):
    """Score how much of the source was attended, 0 being all of it.

    Formula:

        score = weight * sum_i log(min(c_i, 1))    over real positions i

    A position that was never attended would make it minus infinity, and all
    hypotheses alike. Below `1e-37`, the smallest that float32 safely holds,
    `c` counts as `1e-37`: who leaves out less is better still.

    Args:
        coverage: `(B, K, Tv)`, the weights of all steps so far, added up.
        mask: Boolean `(B, Tv)`, `True` at real positions, or `None`.
        weight: The factor.

    Returns:
        `(B, K)`, in float32 or wider.
    """
    covered = ops.clip(widen(coverage), UNSEEN, 1.0)
    if mask is not None:
        covered = ops.where(ops.expand_dims(mask, 1), covered, 1.0)
    return weight * ops.sum(ops.log(covered), axis=-1)
