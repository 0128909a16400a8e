"""Generation at a few sizes of batch and source, and of no rows."""

import bisect
from collections.abc import Callable

from keras import ops

from keras_attention.search import Generation

# XLA compiles once per shape. With these sizes at most a third of the tokens
# is padding, and lengths up to a hundred need less than ten of them.
SIZES = sorted(n << k for k in range(20) for n in (2, 3))
SHORTEST = 8


def at_least_one(run: Callable) -> Callable:
    """Wrap generation so that an empty batch runs as one row, cut off again.

    Reshapes in a model cannot infer a size of a tensor without elements.

    Args:
        run: Function from a source `(B, Tv)` or `(B, Tv, D)`, a search, a
            prefix, and what else there is, to a `Generation`.

    Returns:
        A function with the same arguments and results.
    """

    def resized(source, search, prefix, *more):
        if source.shape[0] != 0:
            return run(source, search, prefix, *more)
        row = ops.ones((1, *ops.shape(source)[1:]), source.dtype)
        found = run(row, search, None, *more)
        return Generation(*[None if x is None else x[:0] for x in found])

    return resized


def at_few_sizes(run: Callable, pads: bool = True) -> Callable:
    """Wrap generation so that batches of ids have sizes in `SIZES` only.

    The batch is filled up with copies of the last row, which end when it
    ends. Sources are padded with zeros if that changes no result. If the
    encoder changes the length, the padding cannot be cut off the attention
    weights, so sources of such a model keep their length.

    Args:
        run: Function from a source `(B, Tv)`, a prefix and what else there is
            to a `Generation`.
        pads: Whether the encoder obeys masks, so that padding behind a source
            changes nothing. Defaults to `True`.

    Returns:
        A function with the same arguments and results.
    """

    def resized(source, prefix, *more, **states):
        nonlocal pads
        # Padded features may be unmasked; an empty batch has no last row.
        if len(source.shape) != 2 or not source.shape[0]:
            return run(source, prefix, *more, **states)
        rows, length = source.shape
        wide = _repeat_last(_widen(source) if pads else source)
        begin = None if prefix is None else _repeat_last(_widen(prefix))
        found = run(wide, begin, *more, **states)
        weights = found.weights
        if pads and weights is not None:
            pads = weights.shape[-1] == wide.shape[1]
            if not pads:
                return resized(source, prefix, *more, **states)
        found = [None if x is None else x[:rows] for x in found]
        if pads and weights is not None:
            found[-1] = found[-1][..., :length]
        return Generation(*found)

    return resized


def fitting_size(n: int) -> int:
    """Return the smallest of `SIZES` that is not below; 0 and 1 stay."""
    return SIZES[bisect.bisect_left(SIZES, n)] if n > 1 else n


def _repeat_last(x):
    missing = fitting_size(x.shape[0]) - x.shape[0]
    return ops.concatenate([x, ops.repeat(x[-1:], missing, axis=0)])


def _widen(x):
    length = x.shape[1]
    return ops.pad(
        x, [[0, 0], [0, fitting_size(max(length, SHORTEST)) - length]]
    )
