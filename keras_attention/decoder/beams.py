"""The axis of beams: added and removed here alone."""

from typing import Any
from typing import NamedTuple

from keras import ops


class BeamAxis(NamedTuple):
    """The axis on which parallel hypotheses of one source stand.

    A step takes and gives `(B, U)` without beams, and `(B, K, U)` with them.
    Cells compute rows: `(B, U)`, or `(B K, U)`. Attentions answer queries:
    `(B, 1, U)`, or `(B, K, U)`.

    Attributes:
        count: The number `K`, or `None` if there is no such axis.
    """

    count: Any = None

    @classmethod
    def of(cls, x) -> "BeamAxis":
        """Find the axis of a tensor `(B, U)` or `(B, K, U)`."""
        return cls(ops.shape(x)[1] if len(x.shape) == 3 else None)

    def as_rows(self, x):
        """Make rows of what a step takes."""
        return x if self.count is None else ops.reshape(x, (-1, x.shape[-1]))

    def from_rows(self, x):
        """Make what a step gives of rows."""
        if self.count is None:
            return x
        return ops.reshape(x, (-1, self.count, x.shape[-1]))

    def as_queries(self, x):
        """Make queries of what a step takes; `None` stays `None`."""
        added = self.count is None and x is not None
        return ops.expand_dims(x, axis=1) if added else x

    def from_queries(self, x):
        """Make what a step gives of queries."""
        return ops.squeeze(x, axis=1) if self.count is None else x

    def spread(self, state):
        """Give every beam the state of its source, if it has none yet."""
        state = ops.convert_to_tensor(state)
        if self.count is None or len(state.shape) > 2:
            return state
        return ops.repeat(ops.expand_dims(state, 1), self.count, axis=1)
