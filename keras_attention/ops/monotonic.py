"""Monotonic alignments: attention that only moves to the right.

A step starts at the position where the step before stopped. It goes through the
positions from left to right and stops at position `j` with probability `p[j]`.
The weights are the probabilities of stopping at each position, given
`previous`, the weights of the previous step: `weights = p * arrived`, with

    arrived[j] = previous[j] + (1 - p[j - 1]) * arrived[j - 1]

which is eq. 9 of [Raffel et al., 2017](https://arxiv.org/abs/1704.00784). With
`stepwise`, a step moves by exactly one position if it does not stop. All
functions take energies `(B, K, Tv)` in float32 or wider, with
`p = sigmoid(energies)`, and a boolean mask that broadcasts to them, or `None`.
At masked positions `p` is 0.
"""

from keras_attention.backend import ops
from keras_attention.ops.loops import loop_over_time
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import join_masks
from keras_attention.ops.numerics import masked_softmax
from keras_attention.ops.numerics import running_sum
from keras_attention.ops.numerics import windows
from keras_attention.ops.positions import first_true

LOWEST = -60.0  # of a logarithm: exp(60) is far from overflow in float32


def stop_recursively(energies, previous, mask=None):
    """Compute the weights by the recursion: exact, but sequential.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the previous step, `(B, K, Tv)`.
        mask: `True` at positions that may get a weight.

    Returns:
        Weights `(B, K, Tv)`.
    """
    stop, passed = _probabilities(energies, mask)
    zero = ops.zeros(ops.shape(previous)[:-1], previous.dtype)

    def step(carry, inputs):
        passed, previous = inputs
        arrived = previous + passed * carry[0]
        return [arrived], [arrived]

    inputs = [ops.moveaxis(x, -1, 0) for x in (shift(passed, 1.0), previous)]
    length = ops.shape(previous)[-1]
    _, (arrived,) = loop_over_time(step, [zero], inputs, [zero], length)
    return stop * ops.moveaxis(arrived, 0, -1)


def stop_in_parallel(energies, previous, mask=None):
    """Compute the weights of all positions at once, by a cumulative product.

    Formula:

        arrived[j] = c[j] sum_{k <= j} previous[k] / c[k]
        c[j] = prod_{l < j} (1 - p[l])

    The product starts at the first position where `previous` is positive, and
    is computed as a sum of logarithms. The divisor `c[k]` is at least
    exp(-60): the mass of `previous` at positions with a smaller one is lost.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the previous step, `(B, K, Tv)`.
        mask: `True` at positions that may get a weight.

    Returns:
        Weights `(B, K, Tv)`.
    """
    stop, _ = _probabilities(energies, mask)
    counts = join_masks(_reached(previous), mask)
    passed = ops.where(counts, ops.log_sigmoid(-energies), 0.0)
    product = running_sum(shift(passed, 0.0))
    bounded = ops.where(product > LOWEST, product, LOWEST)
    arrived = ops.exp(product) * running_sum(previous * ops.exp(-bounded))
    return stop * arrived


def stop_hard(energies, previous, mask=None):
    """Put all weight on the first position with `p > 1/2`.

    Its gradient is 0. If there is no such position, all weights are 0, and
    so are those of all later steps.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the previous step, `(B, K, Tv)`.
        mask: `True` at positions that may get a weight.

    Returns:
        Weights `(B, K, Tv)`: 1 at one position or nowhere, else 0.
    """
    stops = ops.logical_and(energies > 0, _reached(previous))
    if mask is not None:
        stops = ops.logical_and(stops, mask)
    # A gradient of 0: torch raises an error where there is none.
    return first_true(stops, energies.dtype) + 0 * energies


def step_softly(energies, previous, mask=None):
    """Compute the weights if each step stays, or moves by one position.

    Formula:

        weights[j] = p[j] previous[j] + (1 - p[j - 1]) previous[j - 1]

    Weight that moves to a masked position, or beyond the last one, is lost.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the previous step, `(B, K, Tv)`.
        mask: `True` at positions that may get a weight.

    Returns:
        Weights `(B, K, Tv)`.
    """
    stop, passed = _probabilities(energies, mask)
    return _step(stop, passed, previous, mask)


def step_hard(energies, previous, mask=None):
    """Stay if `p > 1/2`, else move by one position.

    Its gradient is 0.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the previous step, `(B, K, Tv)`.
        mask: `True` at positions that may get a weight.

    Returns:
        Weights `(B, K, Tv)`: those of the previous step, moved or unchanged.
    """
    stops = join_masks(energies > 0, mask)
    stop = ops.cast(stops, energies.dtype)
    weights = _step(stop, 1 - stop, ops.stop_gradient(previous), mask)
    return weights + 0 * energies  # a gradient of 0, as in `stop_hard`


def _step(stop, passed, previous, mask):
    weights = stop * previous + shift(passed * previous, 0.0)
    return weights if mask is None else ops.where(mask, weights, 0.0)


def behind(previous):
    """Move weights by one position, to the start of a strict step.

    Args:
        previous: Weights of the previous step, `(B, K, Tv)`. Negative numbers
            mark the start of the first step, and are not moved.

    Returns:
        `(B, K, Tv)`, not negative. Weight that leaves the last position is
        lost.
    """
    return ops.relu(-previous) + shift(ops.relu(previous), 0.0)


def _probabilities(energies, mask):
    """Return the probabilities of stopping at and of passing a position."""
    stop, passed = ops.sigmoid(energies), ops.sigmoid(-energies)
    if mask is None:
        return stop, passed
    return ops.where(mask, stop, 0.0), ops.where(mask, passed, 1.0)


def _reached(previous):
    return running_sum(previous) > 0


def shift(x, first):
    """Shift entries one position to the right, and insert `first`."""
    start = first * ops.ones_like(x[..., :1])
    return ops.concatenate([start, x[..., :-1]], axis=-1)


def spread_over_chunks(ends, scores, size: int, mask=None):
    """Spread the weight of each position over the chunk that ends there.

    Formula:

        weights[j] = sum over k of ends[k] share_k[j]
        share_k = softmax of scores[k - size + 1], ..., scores[k]

    Chunks are cut at the edges. Each softmax subtracts the largest score of its
    own chunk, so that no exponential can overflow, and a larger score outside
    of the chunk does not cause an underflow.

    Args:
        ends: Weights of the positions at which chunks end, `(B, K, Tv)`.
        scores: `(B, K, Tv)`, in float32 or wider.
        size: Number of positions in a chunk.
        mask: Boolean that broadcasts to `scores`, `True` at positions that
            may get a weight, or `None` for all.

    Returns:
        Weights `(B, K, Tv)`, 0 where masked. The weight of an end whose whole
        chunk is masked is lost.
    """
    if mask is not None:
        scores = ops.where(mask, scores, MASKED)
    chunks = windows(scores, size - 1, 0, MASKED)  # (B, K, Tv, size)
    shares = masked_softmax(chunks, chunks > MASKED)
    return _sum_by_position(ops.expand_dims(ends, -1) * shares, size)


def _sum_by_position(chunks, size):
    """Add up the weights that all chunks give each position.

    Args:
        chunks: `(B, K, Tv, size)`.
        size: Number of positions in a chunk.

    Returns:
        `(B, K, Tv)`.
    """
    after = ((0, 0), (0, 0), (0, size - 1), (0, 0))
    padded = ops.pad(chunks, after)
    parts = [padded[:, :, size - 1 - d : -d or None, d] for d in range(size)]
    return sum(parts[1:], parts[0])
