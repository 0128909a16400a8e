"""Checks of arrays and tensors of any kind, with one wording."""

from collections.abc import Iterable
from typing import Any

import numpy as np

# Attributes that only such tensors have, or have as `True`.
UNEVEN = {
    "a ragged tensor": ("flat_values", "ragged", "is_nested"),
    "a sparse tensor": ("dense_shape", "sparse", "is_sparse"),
}
PAD = (
    "Pad it with zeros: use `.to_tensor()` of a ragged tensor, "
    "`tf.sparse.to_dense`, or `keras.utils.pad_sequences(..., padding='post')`."
)


def is_uneven(value: Any) -> str:
    """Return what kind of ragged or sparse value this is, if any.

    Args:
        value: A tensor, an array or a list of any kind.

    Returns:
        The kind, or `""` for a dense value.
    """
    for kind, names in UNEVEN.items():
        if any(getattr(value, x, False) is not False for x in names):
            return kind
    rows = value if isinstance(value, list | tuple) else ()
    if any(isinstance(x, list | tuple | np.ndarray) for x in rows):
        try:
            np.shape(rows)
        except ValueError:
            return "lists of different lengths"
    return ""


def check_dense(
    needed_by: str,
    name: str,
    value: Any,
    way_out: str = f"{PAD} The mask of padding is then `ids != 0`.",
):
    """Raise a `ValueError` for ragged or sparse values.

    Args:
        needed_by: Who needs what, such as `"detokenize needs ids (B, T)"`.
        name: The argument, as the user typed it.
        value: What was given for it.
        way_out: A sentence that says what to do instead. Defaults to one for
            ids.
    """
    kind = is_uneven(value)
    if kind:
        raise ValueError(
            f"{needed_by}, with rows of equal length. Received: "
            f"{name}={value!r:.80}, {kind}. {way_out}"
        )


def check_finite(needed_by: str, weights: Iterable[tuple[str, Any]]):
    """Raise a `ValueError` for weights with NaN or infinity.

    Args:
        needed_by: Who reads them, such as `"Translator.load"`.
        weights: Pairs of a name, and an array or a variable.
    """
    for name, x in weights:
        # Of Keras' `convert_to_numpy` NumPy warns, if `x` is a variable.
        if not np.isfinite(np.asarray(x)).all():
            raise ValueError(
                f"{needed_by} needs finite weights. Received: {name}, which "
                "contains NaN or infinity. Use the weights of an earlier epoch."
            )
