"""The axis of heads: where it is added, moved into the batch, and removed."""

from keras import ops

from keras_attention.checks import check_choice
from keras_attention.ops import hoist
from keras_attention.ops import product


def check_score_form(layer, form):
    """Check `return_attention_scores`, which may be `"heads"` with heads.

    Args:
        layer: An `AbstractAttention`.
        form: The argument.

    Raises:
        ValueError: If there is no such form.
    """
    forms = (False, True, *([] if layer.head_count is None else ["heads"]))
    check_choice("return_attention_scores", form, forms)


def merge_heads(layer, weights):
    """Average weights over the heads of a layer, if it has any.

    Args:
        layer: An `AbstractAttention`.
        weights: `(B, Tq, Tv)`, or `(B, H, Tq, Tv)` with heads.

    Returns:
        `(B, Tq, Tv)`.
    """
    heads = layer.head_count  # `ops.mean` gives float32 for float64 on torch
    return weights if heads is None else ops.sum(weights, axis=1) / heads


def drop(layer, weights, factors):
    """Multiply weights by the factors of dropout.

    Args:
        layer: An `AbstractAttention`.
        weights: `(B, Tq, Tv)`, or `(B, H, Tq, Tv)` with heads.
        factors: `(B, Tq, Tv)`, or `(B, Tq, H, Tv)`; `None` for no dropout.

    Returns:
        Weights of the same shape.
    """
    if factors is not None and layer.head_count is not None:
        factors = heads_first(factors, layer.head_count)
    return weights if factors is None else weights * factors


def of_head(h: int, x):
    """Return what belongs to head `h` of `(B, T, H, ...)`, `(B, T, ...)`."""
    return x[:, :, h]


def project(x, kernel):
    """Project features for every head, in one product.

    Args:
        x: `(B, T, D)`.
        kernel: `(D, H, U)`.

    Returns:
        `(B, T, H, U)`.
    """
    found = product(x, hoist(_beside, kernel))
    return ops.reshape(found, (*ops.shape(x)[:2], *kernel.shape[1:]))


def _beside(kernel):
    return ops.reshape(kernel, (kernel.shape[0], -1))


def below(kernel):
    """Lay the kernels of all heads below each other.

    Args:
        kernel: `(H, U, D)`.

    Returns:
        `(H U, D)`.
    """
    return ops.reshape(kernel, (-1, kernel.shape[-1]))


def heads_first(x, heads: int):
    """Move the axis of heads before that of steps.

    It stacks slices, since the converter to ONNX breaks transpositions that
    move an axis of size 1.

    Args:
        x: `(B, T, H, ...)`.
        heads: The number `H`.

    Returns:
        `(B, H, T, ...)`.
    """
    return ops.stack([x[:, :, h] for h in range(heads)], axis=1)


def heads_last(x, heads: int):
    """Move the axis of heads behind that of steps.

    Args:
        x: `(B, H, T, ...)`.
        heads: The number `H`.

    Returns:
        `(B, T, H, ...)`.
    """
    return ops.stack([x[:, h] for h in range(heads)], axis=2)


def as_rows(x):
    """Make every head a row of the batch.

    Args:
        x: `(B, H, T, ...)`.

    Returns:
        `(B H, T, ...)`.
    """
    batch, heads, *rest = ops.shape(x)
    return ops.reshape(x, (batch * heads, *rest))


def from_rows(x, heads: int):
    """Make heads an axis again.

    Args:
        x: `(B H, T, ...)`.
        heads: The number `H`.

    Returns:
        `(B, H, T, ...)`.
    """
    rows, *rest = ops.shape(x)
    return ops.reshape(x, (rows // heads, heads, *rest))


def mask_rows(mask, batch, heads: int):
    """Repeat a mask for every head.

    Args:
        mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.
        batch: The number `B`.
        heads: The number `H`.

    Returns:
        Boolean that broadcasts to `(B H, Tq, Tv)`, or `None`.
    """
    if mask is None:
        return None
    for _ in range(3 - len(mask.shape)):
        mask = ops.expand_dims(mask, 0)
    mask = ops.broadcast_to(mask, (batch, *ops.shape(mask)[1:]))
    return ops.repeat(mask, heads, axis=0)
