"""Monotonic alignments: from where the last step looked, on to the right.

At every position the reader stops with probability `p`, else it goes on to
the next. Given where it was, `previous`, the weights are the probabilities of
where it stops: `weights = p * arrived`, with

    arrived[j] = previous[j] + (1 - p[j - 1]) * arrived[j - 1]

which is eq. 9 of [Raffel et al., 2017](https://arxiv.org/abs/1704.00784).
All take energies `(B, K, Tv)`, whose sigmoid is `p`, in float32 or wider; the
mask, boolean, broadcasts to that, or is `None`; a masked position is passed.
"""

from keras import ops

from keras_attention.ops.cumulative import running_sum
from keras_attention.ops.loops import loop_over_time
from keras_attention.ops.numerics import join_masks

LOWEST = -60.0  # of a logarithm: exp(60) is far from overflow in float32


def stop_recursively(energies, previous, mask=None):
    """Follow the recursion, position by position: exact, and slow.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the step before, `(B, K, Tv)`.
        mask: `True` where the reader may stop.

    Returns:
        Weights `(B, K, Tv)`.
    """
    stop, passed = _probabilities(energies, mask)
    zero = ops.zeros(ops.shape(previous)[:-1], previous.dtype)

    def step(carry, inputs):
        passed, previous = inputs
        arrived = previous + passed * carry[0]
        return [arrived], [arrived]

    inputs = [ops.moveaxis(x, -1, 0) for x in (_shift(passed, 1.0), previous)]
    length = ops.shape(previous)[-1]
    _, (arrived,) = loop_over_time(step, [zero], inputs, [zero], length)
    return stop * ops.moveaxis(arrived, 0, -1)


def stop_in_parallel(energies, previous, mask=None):
    """Solve the recursion by a cumulative product, for all positions at once.

    Formula:

        arrived[j] = c[j] sum_{k <= j} previous[k] / c[k]
        c[j] = prod_{l < j} (1 - p[l])

    The product starts where `previous` does, and is a sum of logarithms. Only
    mass behind a product below exp(-60) is lost.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the step before, `(B, K, Tv)`.
        mask: `True` where the reader may stop.

    Returns:
        Weights `(B, K, Tv)`.
    """
    stop, _ = _probabilities(energies, mask)
    counts = join_masks(_reached(previous), mask)
    passed = ops.where(counts, ops.log_sigmoid(-energies), 0.0)
    product = running_sum(_shift(passed, 0.0))
    bounded = ops.where(product > LOWEST, product, LOWEST)
    arrived = ops.exp(product) * running_sum(previous * ops.exp(-bounded))
    return stop * arrived


def stop_hard(energies, previous, mask=None):
    """Stop for sure at the first position with `p` above one half.

    Nothing is learned through it. Where no position is, all weights are 0,
    and so are those of all later steps.

    Args:
        energies: `(B, K, Tv)`.
        previous: Weights of the step before, `(B, K, Tv)`.
        mask: `True` where the reader may stop.

    Returns:
        Weights `(B, K, Tv)`, 1 at one position at most.
    """
    stops = ops.logical_and(energies > 0, _reached(previous))
    if mask is not None:
        stops = ops.logical_and(stops, mask)
    # Gradients of 0 rather than none, which torch would refuse.
    return first_true(stops, energies.dtype) + 0 * energies


def first_true(flags, dtype):
    """Mark the first `True` of every row by 1, and all else by 0.

    Args:
        flags: Boolean `(..., Tv)`.
        dtype: Of the result.
    """
    count = ops.cumsum(ops.cast(flags, "int32"), axis=-1)
    return ops.cast(ops.logical_and(flags, count == 1), dtype)


def _probabilities(energies, mask):
    """Tell how likely the reader stops, and how likely it does not."""
    stop, passed = ops.sigmoid(energies), ops.sigmoid(-energies)
    if mask is None:
        return stop, passed
    return ops.where(mask, stop, 0.0), ops.where(mask, passed, 1.0)


def _reached(previous):
    return running_sum(previous) > 0


def _shift(x, first):
    """Move every entry one position to the right."""
    start = first * ops.ones_like(x[..., :1])
    return ops.concatenate([start, x[..., :-1]], axis=-1)
