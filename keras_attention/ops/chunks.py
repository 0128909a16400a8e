"""Chunks: the few positions that end at each position of a source."""

from keras import ops

from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import masked_softmax
from keras_attention.ops.windows import windows


def spread_over_chunks(ends, scores, size: int, mask=None):
    """Spread the weight of each position over the chunk that ends there.

    Formula:

        weights[j] = sum over k of ends[k] share_k[j]
        share_k = softmax of scores[k - size + 1], ..., scores[k]

    Chunks are cut at the edges. Each softmax is computed by itself, minus its
    own largest score, so that no exponential can overflow, and none of the
    chunk's scores is lost to a larger one outside.

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
