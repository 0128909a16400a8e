"""Prepare features, such as images or speech, for translation."""

from typing import Any

import keras
import numpy as np

from keras_attention.checks import check_shape
from keras_attention.translation.program import Row


def feature_rows(
    spec: keras.InputSpec, features: Any, mask: Any = None
) -> list[Row]:
    """Convert features to rows of one or two columns.

    Args:
        spec: The model's `source_spec`.
        features: `(B, Tv, D)`, images, or a list of rows with different
            lengths.
        mask: Boolean `(B, Tv)`, or `None`.

    Returns:
        For each row, its features and, unless they are an image, their mask.

    Raises:
        ValueError: If a shape does not fit the model or the mask, or if an
            unmasked number is NaN or infinite.
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
        _check_finite(rows)
        return [Row([row]) for row in rows]
    masks = [np.ones(len(row), bool) for row in rows]
    if mask is not None:
        given = np.asarray(mask)
        needs = "`mask` must have a row for each row of features, of one length"
        wanted = (len(rows), *{len(row) for row in rows})
        way_out = "Leave it out for rows of several lengths."
        check_shape(needs, "mask", given.shape, wanted, way_out)
        masks = list(given.astype(bool))
    _check_finite([row[real] for row, real in zip(rows, masks, strict=True)])
    return [Row([*pair]) for pair in zip(rows, masks, strict=True)]


def _check_images(rows, mask):
    if mask is not None or len({row.shape for row in rows}) > 1:
        raise ValueError(
            "Images must have the same size, and no `mask`. Received: shapes "
            f"{sorted({row.shape for row in rows})}, and "
            f"{'no' if mask is None else 'a'} mask. Resize them."
        )


def _check_finite(rows):
    for i, row in enumerate(rows):
        if not np.isfinite(row).all():
            raise ValueError(
                "A translator without a source tokenizer needs features that "
                f"are finite numbers. Received: row {i}, which has NaN or "
                "infinity. Replace them, or mask their positions."
            )
