"""The state of a stream, as tensors."""

from typing import Any
from typing import NamedTuple

from keras_attention.backend import ops


class StreamState(NamedTuple):
    """The state of a stream between two parts of the source.

    Its memory contains the last `W` positions, the same for all rows: those
    that some row may still need.

    Attributes:
        encoder: States of the encoder, `(B, ...)`.
        decoder: States of the decoder's cells, and the attentional vector if it
            is fed back, `(B, U)`.
        keys: Keys of each attention, `(B, W, ...)`.
        values: Values of each attention, `(B, W, ...)`.
        mask: Boolean `(B, W)`, `True` at valid positions.
        count: Number of positions so far, `(B,)` int32.
        heads: Position of each attention, `(B,)` int32.
        word: The last token, `(B,)` int32.
        left: Number of tokens that may still be generated, `(B,)` int32; 0
            after the end token.
    """

    encoder: list
    decoder: list
    keys: list
    values: list
    mask: Any
    count: Any
    heads: list
    word: Any
    left: Any

    @property
    def places(self):
        """The position of each column of the memory, `(B, W)` int32."""
        size = ops.shape(self.mask)[1]
        columns = ops.arange(size, dtype="int32") - size
        return self.count[:, None] + columns

    def extended(self, encoder: list, memories: list, mask) -> "StreamState":
        """Add a part of the source to the memory.

        Args:
            encoder: States of the encoder after the part.
            memories: The `Memory` of the part, of each attention.
            mask: Boolean `(B, n)`, `True` at valid positions.

        Returns:
            A `StreamState`.
        """

        def joined(before, parts):
            pairs = zip(before, parts, strict=True)
            return [ops.concatenate(pair, axis=1) for pair in pairs]

        return self._replace(
            encoder=encoder,
            keys=joined(self.keys, [x.keys for x in memories]),
            values=joined(self.values, [x.values for x in memories]),
            mask=ops.concatenate([self.mask, mask], axis=1),
            count=self.count + ops.shape(mask)[1],
        )

    def needed(self, lookbacks: list[int]):
        """Return how many of the last positions any row may still need.

        Args:
            lookbacks: Number of positions before the head that each attention
                needs.

        Returns:
            Scalar int32, at least 1.
        """
        lows = [
            head - before
            for head, before in zip(self.heads, lookbacks, strict=True)
        ]
        low = ops.maximum(ops.min(ops.stack(lows), axis=0), 0)
        back = ops.where(self.left > 0, self.count - low, 0)
        return ops.maximum(ops.max(back), 1)

    def kept(self, size) -> "StreamState":
        """Keep only the last positions.

        Args:
            size: Their number, from 1 to `W`, an integer or a scalar tensor.

        Returns:
            A `StreamState`.
        """
        first = ops.shape(self.mask)[1] - size
        return self._replace(
            keys=[x[:, first:] for x in self.keys],
            values=[x[:, first:] for x in self.values],
            mask=self.mask[:, first:],
        )

    def widened(self, size: int) -> "StreamState":
        """Add masked positions before the others, up to `size` in total.

        Args:
            size: Total number of positions, an integer of at least `W`.

        Returns:
            A `StreamState`.
        """
        missing = size - self.mask.shape[1]
        if not missing:
            return self

        def wide(x):
            rest = [[0, 0]] * (len(x.shape) - 2)
            return ops.pad(x, [[0, 0], [missing, 0], *rest])

        return self._replace(
            keys=[wide(x) for x in self.keys],
            values=[wide(x) for x in self.values],
            mask=wide(self.mask),
        )
