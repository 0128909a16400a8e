"""Weights and tokens to plot: checked, and without padding."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_attention.checks import check_count

ONE_EACH = "one entry for each matrix of `weights`"


class _Picture(NamedTuple):
    matrix: np.ndarray  # (T, Tv)
    source: list[str]
    target: list[str]


def read_pictures(
    weights, source_tokens: Sequence, target_tokens: Sequence
) -> tuple[list, bool]:
    """Check weights and their tokens, and remove padding.

    Args:
        weights: One matrix `(T, Tv)`, or several, of any sizes.
        source_tokens: `Tv` tokens for all matrices, or a list for each.
        target_tokens: `T` tokens for all matrices, or a list for each.


    Returns:
        A list of plots, each with its `matrix`, `source` and `target`, and
        whether `weights` was a list or batch of matrices.

    Raises:
        ValueError: If their sizes do not match.
    """
    matrices, several = _matrices(weights)
    sources = read_tokens("source_tokens", source_tokens, matrices, 1)
    targets = read_tokens("target_tokens", target_tokens, matrices, 0)
    return list(map(_trimmed, matrices, sources, targets)), several


def read_arrays(weights) -> list[np.ndarray]:
    """Split weights along their first axis, into arrays of floats.

    Args:
        weights: A tensor or an array, or a list of them.
    """
    if not isinstance(weights, (list, tuple)):
        weights = np.atleast_1d(ops.convert_to_numpy(weights))
    return [np.asarray(ops.convert_to_numpy(x), float) for x in weights]


def read_tokens(
    name: str, tokens: Sequence, matrices: Sequence[np.ndarray], axis: int
) -> list[list[str]]:
    """Read the tokens of each matrix as strings.

    One list for all matrices needs a token for each row or column. Separate
    lists may be shorter, if matrices are padded to one size.

    Args:
        name: Name of the argument, for the error.
        tokens: Tokens for all matrices, or a list of them for each; `str`
            or UTF-8 `bytes`.
        matrices: A list of arrays.
        axis: 0 for the tokens of rows, 1 for those of columns.

    Returns:
        A list of strings for each matrix.

    Raises:
        ValueError: If there are too many tokens, or too few.
    """
    tokens = np.asarray(tokens).tolist() if hasattr(tokens, "shape") else tokens
    nested = any(isinstance(x, (list, tuple, np.ndarray)) for x in tokens)
    sentences = tokens if nested else [tokens] * len(matrices)
    check_count(ONE_EACH, name, sentences, "matrices", matrices)
    for sentence, matrix in zip(sentences, matrices, strict=True):
        size = matrix.shape[axis]
        if len(sentence) > size or (len(sentence) < size and not nested):
            raise ValueError(
                f"`{name}` needs one token for each "
                f"{('row', 'column')[axis]} of `weights`. Received: "
                f"{len(sentence)} tokens for weights of shape {matrix.shape}."
            )
    return [[_text(token) for token in sentence] for sentence in sentences]


def real(tokens: list[str]) -> int:
    """Count tokens except for empty ones at the end, but at least one."""
    return max((n for n, token in enumerate(tokens, 1) if token), default=1)


def _matrices(weights):
    parts = read_arrays(weights)
    shapes = {x.shape for x in parts}
    several = {len(shape) for shape in shapes} == {2}
    rows = {len(shape) for shape in shapes} == {1} and len(shapes) == 1
    if not (several or rows) or any(0 in shape for shape in shapes):
        raise ValueError(
            "`weights` must be one or several matrices (T, Tv), and must not "
            f"be empty. Received: {len(parts)} of shapes {sorted(shapes)}. "
            "From the weights of a `Generation`, select one row: `weights[0]`."
        )
    return (parts if several else [np.stack(parts)]), several


def _text(token):
    if isinstance(token, bytes):
        return token.decode("utf-8", errors="replace")
    return str(token)


def _trimmed(matrix, source, target):
    rows, columns = real(target), real(source)
    unnamed = matrix[:rows, len(source) :]
    if unnamed.any():
        raise ValueError(
            "`source_tokens` needs a token for each column with attention. "
            f"Received: {len(source)} tokens, and weights up to "
            f"{unnamed.max():.3g} after them."
        )
    return _Picture(matrix[:rows, :columns], source[:columns], target[:rows])
