"""The alignment error rate of attention against manual alignments."""

import numpy as np

from keras_attention.backend import ops


def alignment_error_rate(weights, gold, possible=None, mask=None) -> float:
    """Compute the alignment error rate of attention.

    Formula:

        AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

    `A` is the set of links from attention, `S` the set of sure links in the
    manual alignment, and `P` the set of possible links, which includes the sure
    links. A link of `S` that is missing in `A` is an error, and so is a link of
    `A` that is not in `P`. The best rate is 0, and the worst is 1. Counts are
    summed over all sentences before they are divided. If both `A` and `S` are
    empty, the rate is 0.

    `A` links each target token to the source token with the largest weight. If
    several source tokens have this weight, it links to the first of them. A
    target token whose weights are all 0 has no link.

    Manual alignments do not include start and end tokens: remove their rows and
    columns from the weights first, or mask them.

    Args:
        weights: Tensors or arrays: `(T, Tv)` for one sentence; a batch
            `(N, T, Tv)`, or a list of `N` matrices of any sizes.
        gold: The sure links, in the form of `weights`; 0 means no link.
        possible: The possible links, in the form of `weights`. Defaults to the
            sure links.
        mask: `True` where source and target token are valid, in the form of
            `weights`; other links are ignored. Defaults to `True` everywhere.

    Returns:
        The rate, from 0 to 1.

    Raises:
        ValueError: If shapes or numbers of sentences differ, or if weights
            are not finite.

    Example:

    >>> weights = [[0.9, 0.1, 0.0], [0.2, 0.1, 0.7]]
    >>> alignment_error_rate(weights, [[1, 0, 0], [0, 1, 0]])
    0.5
    >>> alignment_error_rate(
    ...     weights, [[1, 0, 0], [0, 0, 0]], possible=[[1, 0, 0], [0, 0, 1]]
    ... )
    0.0

    Reference:
        [Och and Ney, 2003](https://aclanthology.org/J03-1002/), section 5.
    """
    weights = _matrices("weights", weights)
    gold = _like("gold", gold, weights)
    if possible is not None:
        possible = _like("possible", possible, weights)
    if mask is None:
        mask = [np.ones_like(matrix) for matrix in weights]
    mask = _like("mask", mask, weights)
    found = [
        {(t, j) for t, j in enumerate(x.argmax(axis=1)) if x[t, j] > 0}
        for x in map(np.multiply, weights, mask)
    ]
    gold, possible = (
        [
            {*map(tuple, np.argwhere(x & y))}
            for x, y in zip(links, mask, strict=True)
        ]
        for links in (gold, possible or gold)
    )
    return error_rate_of_links(found, gold, possible)


def error_rate_of_links(
    found: list[set], sure: list[set], possible: list[set]
) -> float:
    """Compute the alignment error rate of sets of links.

    Args:
        found: Links from attention: for each sentence, a set of pairs of a
            target and a source position.
        sure: The sure links, in the same form.
        possible: The possible links, with or without the sure ones.

    Returns:
        The rate, from 0 to 1.
    """
    right = counted = 0
    for links, must_be, may_be in zip(found, sure, possible, strict=True):
        right += len(links & must_be) + len(links & (must_be | may_be))
        counted += len(links) + len(must_be)
    return float(1 - right / counted) if counted else 0.0


def _matrices(name, given):
    """Return one matrix, a batch or a list of matrices as a list."""
    parts = given
    if not isinstance(given, list | tuple):
        parts = ops.convert_to_numpy(given)
    parts = [np.asarray(ops.convert_to_numpy(part), float) for part in parts]
    if parts and parts[0].ndim == 1:  # the rows of one matrix
        parts = [np.stack(parts)]
    if any(part.ndim != 2 or not part.size for part in parts):
        raise ValueError(
            f"`{name}` must be a matrix (T, Tv), or a batch or list of "
            f"matrices that are not empty. Received shapes: {_shapes(parts)}"
        )
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError(
            f"`{name}` must be finite. Received: NaN or infinity. Check "
            "whether the training has diverged."
        )
    return parts


def _like(name, given, weights):
    """Read booleans with the shapes of the weights."""
    parts = _matrices(name, given)
    if [p.shape for p in parts] != [w.shape for w in weights]:
        raise ValueError(
            f"`{name}` must have the shapes of `weights`, {_shapes(weights)}. "
            f"Received: {_shapes(parts)}. A batch is padded, and a list is "
            "not: pass both in the same form."
        )
    return [part != 0 for part in parts]


def _shapes(parts):
    return ", ".join(str(part.shape) for part in parts)
