"""Hidden alignments, by logarithms: the position of a word, and the next one.

Probabilities of positions are logarithms here, so that products of many small
ones stay exact. `MASKED` stands for a probability of 0.
"""

import math

from keras_attention.backend import ops
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.rows import take_rows

SURE = 1e4  # what an infinite bias counts as
LOST = 1e-34  # below it, sums of probabilities lose digits in float32


def offsets_between(bias, real, monotonic: bool):
    """Compute the offsets of scores for a move from each position.

    Args:
        bias: Biases of moves by `-W` to `W` positions, `(2 W + 1,)`. Longer
            moves have the bias of `W` or `-W`. A move with the bias `inf` is
            always made if it is possible; a move with `-inf` is made only if no
            other move is possible.
        real: Boolean `(B, Tv)`, `True` at valid positions.
        monotonic: Whether no move goes back.

    Returns:
        `(B, Tv, Tv)`, `MASKED` where no move goes.
    """
    most = bias.shape[0] // 2
    places = ops.arange(ops.shape(real)[1], dtype="int32")
    moves = places - ops.expand_dims(places, 1)  # (Tv, Tv)
    allowed = ops.expand_dims(real, 1)
    if monotonic:
        allowed = ops.logical_and(allowed, moves >= 0)
    numbers = ops.clip(moves, -most, most) + most
    offsets = take_rows(ops.clip(bias, -SURE, SURE), numbers)
    # A batch may have no rows, and `ops.max` then needs a number.
    biases = ops.where(allowed, offsets, -SURE)
    largest = ops.max(biases, -1, keepdims=True, initial=-SURE)
    # The softmax stays the same, and large biases cost scores no digits.
    offsets = offsets - ops.stop_gradient(largest)
    return ops.where(allowed, offsets, MASKED)


def log_transitions(scores, offsets):
    """Compute the log probability of each move.

    Args:
        scores: Scores of positions, `(B, K, Tv)`.
        offsets: What is added to them for a move from each of `N` positions,
            `(B, N, Tv)`.

    Returns:
        `(B, K, N, Tv)`.
    """
    return ops.log_softmax(
        ops.expand_dims(scores, 2) + ops.expand_dims(offsets, 1), axis=-1
    )


def log_sum(logs, axis: int):
    """Compute the log of a sum; each row has a finite number.

    `ops.logsumexp` also handles infinity, which takes a third more time.
    """
    # A batch may have no rows, and `ops.max` then needs a number.
    largest = ops.max(logs, axis=axis, keepdims=True, initial=-math.inf)
    largest = ops.stop_gradient(largest)
    total = ops.sum(ops.exp(logs - largest), axis=axis)
    return ops.squeeze(largest, axis) + ops.log(total)


def log_mixture(scores, priors):
    """Compute the log probabilities of a mixture of softmaxes.

    Formula:

        norms[j] = log(sum_v exp(scores[j, v]))
        log(sum_j exp(priors[j] + scores[j, v] - norms[j]))

    Probabilities are added directly, which takes one product. They are added as
    logarithms only if a probability is so small that digits would be lost.

    Args:
        scores: `(B, K, Tv, V)`.
        priors: Log probabilities of positions, `(B, K, Tv)`.

    Returns:
        `(B, K, V)`, and `norms` `(B, K, Tv)`.
    """
    largest = ops.max(scores, axis=-1, keepdims=True, initial=MASKED)
    largest = ops.stop_gradient(largest)
    values = ops.exp(scores - largest)
    total = ops.sum(values, axis=-1)
    norms = ops.squeeze(largest, -1) + ops.log(total)
    shares = ops.expand_dims(ops.exp(priors) / total, 2)
    mixed = ops.squeeze(shares @ values, 2)

    def by_logarithms():
        logs = ops.expand_dims(priors - norms, -1)
        return log_sum(scores + logs, axis=2)

    small = ops.any(mixed < LOST)
    return ops.cond(small, by_logarithms, lambda: ops.log(mixed)), norms
