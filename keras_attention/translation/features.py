"""Features, which are translated as sentences are."""

from typing import Any

import keras
import numpy as np

from keras_attention.translation.result import Translation


def feature_rows(
    spec: keras.InputSpec, features: Any, mask: Any = None
) -> list[list[np.ndarray]]:
    """List features as rows of one or two columns.

    Args:
        spec: The model's `source_spec`.
        features: `(B, Tv, D)`, images, or a list of rows of several lengths.
        mask: Boolean `(B, Tv)`, or `None`.

    Returns:
        For each row its features, and unless they are an image their mask.

    Raises:
        ValueError: If a shape does not fit the model, or the mask.
    """
    rows = [np.asarray(row) for row in features]
    sizes = spec.shape[1:]
    for i, row in enumerate(rows):
        fits = row.ndim == len(sizes) and all(
            size in (None, n) for size, n in zip(sizes, row.shape, strict=True)
        )
        if not fits or row.dtype.kind not in "biuf" or not row.size:
            raise ValueError(
                "A translator without a source tokenizer needs features of "
                f"shape {tuple(sizes)}, for each row. Received: row {i} of "
                f"shape {row.shape} and type {row.dtype}."
            )
    rows = [row.astype(spec.dtype) for row in rows]
    if len(sizes) > 2:  # images
        _check_images(rows, mask)
        return [[row] for row in rows]
    masks = [np.ones(len(row), bool) for row in rows]
    if mask is not None:
        given = np.asarray(mask)
        if given.shape != (len(rows), *{len(row) for row in rows}):
            raise ValueError(
                "`mask` must have a row for each row of features, all of one "
                f"length. Received: mask of shape {given.shape} for "
                f"{len(rows)} rows. Leave it out for a list of lengths."
            )
        masks = list(given.astype(bool))
    return [list(pair) for pair in zip(rows, masks, strict=True)]


def _check_images(rows, mask):
    if mask is not None or len({row.shape for row in rows}) > 1:
        raise ValueError(
            "Images must have one size, and no mask. Received: shapes "
            f"{sorted({row.shape for row in rows})}, and "
            f"{'no' if mask is None else 'a'} mask. Resize them."
        )


def cut_attention(
    entry: Translation, padded: np.ndarray, row: np.ndarray
) -> Translation:
    """Cut attention to padding, where there is a weight for each position.

    Args:
        entry: What was found for a row.
        padded: The first column of its batch, `(B, Tv, ...)`.
        row: The row, without padding.
    """
    several = isinstance(entry.attention, list)
    weights = entry.attention if several else [entry.attention]
    if weights[0] is None or weights[0].shape[-1] != padded.shape[1]:
        return entry
    cut = [x[..., : len(row)] for x in weights]
    return entry._replace(attention=cut if several else cut[0])
