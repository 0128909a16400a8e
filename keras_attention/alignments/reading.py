"""How an attention reads a source that arrives in parts."""

from keras_attention.backend import ops
from keras_attention.checks import missing_method


class AbstractReading:
    """Describes how an attention reads a source that arrives in parts.

    The attention keeps one position for each row, its head. Positions count
    from 0 at the beginning of the source, even if the part begins later. A row
    waits until the rest of the source can no longer change its weights.

    Args:
        before: Number of positions before the head that weights may need.
    """

    def __init__(self, before: int = 0):
        self.before = before

    def place(self, head, places, dtype: str) -> tuple:
        """Return the attention's state before a step on the part.

        Args:
            head: `(B,)` int32.
            places: The position of each column of the part, `(B, W)` int32.
            dtype: Dtype of the state.

        Returns:
            Tuple of tensors `(B, ...)`, as the attention's `step` takes them.
        """
        raise missing_method(self.place)

    def follow(self, head, places, state) -> tuple:
        """Return whether the weights of a step are final, and the next heads.

        Args:
            head: The head before the step, `(B,)` int32.
            places: As in `place`.
            state: Tuple of tensors `(B, ...)` that the step returned.

        Returns:
            Three tensors `(B,)`: whether the weights are final; the head if the
            row waits; and the head if it continues with the next step.
        """
        raise missing_method(self.follow)


class HardReading(AbstractReading):
    """Scans from the head to the first position at which to stop.

    A row that has not stopped continues in the next part, and scans no position
    twice. The state is 1 at the head, and, after the step, 1 at the stop.

    Args:
        before: Number of positions before a stop that weights need. Defaults
            to `0`.
        strict: Whether the next scan begins after a stop. If so, the state is
            -1 at the head. Defaults to `False`.
    """

    def __init__(self, before: int = 0, strict: bool = False):
        super().__init__(before)
        self.strict = strict

    def place(self, head, places, dtype) -> tuple:
        start = ops.cast(ops.equal(places, head[:, None]), dtype)
        return (-start if self.strict else start,)

    def follow(self, head, places, state) -> tuple:
        stops = state[0] > 0
        stopped = ops.any(stops, axis=1)
        stop = ops.sum(ops.where(stops, places, 0), axis=1)
        stop = ops.where(stopped, ops.cast(stop, "int32"), places[:, -1] + 1)
        return stopped, stop, ops.where(stopped, stop + int(self.strict), stop)


class WindowReading(AbstractReading):
    """Waits for a window around the head, which moves by 1 at each step.

    Args:
        before: Number of positions before and after the head.
    """

    def place(self, head, places, dtype) -> tuple:
        return (ops.cast(head[:, None] - places[:, :1], dtype),)

    def follow(self, head, places, state) -> tuple:
        return head + self.before <= places[:, -1], head, head + 1
