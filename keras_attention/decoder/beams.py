"""Conversion between tensors with and without an axis of beams."""

from typing import Any
from typing import NamedTuple

from keras import ops


class BeamAxis(NamedTuple):
    """The axis of parallel hypotheses of one source, which may be absent.

    A decoder step takes and returns `(B, U)` without beams, and `(B, K, U)`
    with them. Recurrent cells need rows, `(B, U)` or `(B K, U)`; attentions
    need queries, `(B, 1, U)` or `(B, K, U)`.

    Attributes:
        count: The number `K`, or `None` if there is no such axis.
    """

    count: Any = None

    @classmethod
    def of(cls, x) -> "BeamAxis":
        """Return the axis of a tensor `(B, U)` or `(B, K, U)`."""
        return cls(ops.shape(x)[1] if len(x.shape) == 3 else None)

    def as_rows(self, x):
        """Convert a step's tensor to rows, `(B, U)` or `(B K, U)`."""
        return x if self.count is None else ops.reshape(x, (-1, x.shape[-1]))

    def from_rows(self, x):
        """Convert rows to a step's tensor, `(B, U)` or `(B, K, U)`."""
        if self.count is None:
            return x
        return ops.reshape(x, (-1, self.count, x.shape[-1]))

    def as_queries(self, x):
        """Convert a step's tensor to queries; `None` stays `None`."""
        added = self.count is None and x is not None
        return ops.expand_dims(x, axis=1) if added else x

    def from_queries(self, x):
        """Convert queries to a step's tensor, `(B, U)` or `(B, K, U)`."""
        return ops.squeeze(x, axis=1) if self.count is None else x

    def spread(self, state):
        """Repeat a state `(B, U)` for every beam; `(B, K, U)` stays."""
        state = ops.convert_to_tensor(state)
        if self.count is None or len(state.shape) > 2:
            return state
        return ops.repeat(ops.expand_dims(state, 1), self.count, axis=1)
