"""Windows: each position of a sequence with its neighbours."""

from keras import ops


def windows(x, before: int, after: int, fill: float = 0.0):
    """Collect the entries around each position.

    Args:
        x: `(B, K, T)`.
        before: Number of entries before each position.
        after: Number of entries after each position.
        fill: What stands beyond the ends. Defaults to `0.0`.

    Returns:
        `(B, K, T, before + 1 + after)`, entries in their order.
    """
    ends = ((0, 0), (0, 0), (before, after))
    padded = ops.pad(x, ends, constant_values=fill)
    last = before + after
    parts = [padded[..., d : d - last or None] for d in range(last + 1)]
    return ops.stack(parts, axis=-1)
