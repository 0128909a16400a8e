"""The flat list of states that a decoder carries from step to step."""

from typing import NamedTuple

import keras
from keras import ops


class StateLayout(NamedTuple):
    """The order of a decoder's flat list of states, and their sizes.

    Attributes:
        cell_sizes: Sizes of the cells' states, bottom first.
        fed_size: Size of the vector that is fed back, 0 if there is none.
        attention_count: Number of states of all attentions together.
    """

    cell_sizes: list[int]
    fed_size: int
    attention_count: int

    def split(self, states: list) -> tuple[list, list, list]:
        """Split the flat list into its parts.

        Args:
            states: The flat list.

        Returns:
            Lists of the cells' states, of the vector that is fed back (empty
            if there is none), and of the attentions' states.

        Raises:
            ValueError: If there are too few or too many.
        """
        own, fed = len(self.cell_sizes), len(self._wanted)
        if len(states) != self._count:
            raise ValueError(
                f"A step needs {self._count} states. Received: "
                f"{len(states)} states. `initial_state` makes the first ones."
            )
        return states[:own], states[own:fed], states[fed:]

    def specs(self, batch: int | None, dtype: str) -> list:
        """Return the shapes and dtypes of all states but the attentions'.

        Args:
            batch: The number of rows, or `None` if it is not known.
            dtype: Dtype of these states.

        Returns:
            List of `keras.KerasTensor`s `(B, size)`.
        """
        return [keras.KerasTensor((batch, x), dtype) for x in self._wanted]

    def check(self, given: list) -> None:
        """Check the flat list of initial states, of the cells or of all.

        Args:
            given: Flat list of the cells' states, or of all states.

        Raises:
            ValueError: If there are too few or too many, or one has another
                size.
        """
        sizes = [x.shape[-1] for x in given]
        pairs = zip(sizes, self._wanted, strict=False)
        own, count = len(self.cell_sizes), self._count
        if len(given) not in (own, count) or any(x != y for x, y in pairs):
            raise ValueError(
                f"The decoder needs {own} initial states of its cells, of "
                f"sizes {self.cell_sizes}, or all {count} states that it "
                "returned itself, to go on from there. Received: initial "
                f"states of sizes {sizes}. StateBridge maps an encoder's "
                "states to these."
            )

    def complete(self, given: list, attention_states: list, dtype) -> list:
        """Complete the cells' initial states to the flat list.

        Args:
            given: Flat list of the cells' states, or of all states.
            attention_states: Initial states of the attentions, which are used
                if `given` has none.
            dtype: Dtype of all states but those of the attentions, which keep
                their own.

        Returns:
            The flat list of all states.

        Raises:
            ValueError: If there are too few or too many, or one has another
                size.
        """
        self.check(given)
        of_attentions = given[self._count - self.attention_count :]
        given = [ops.cast(x, dtype) for x in given[: len(self._wanted)]]
        if len(given) < len(self._wanted):
            shape = (*ops.shape(given[0])[:-1], self.fed_size)
            given.append(ops.zeros(shape, dtype))
        kept = [
            ops.cast(x, own.dtype)
            for x, own in zip(of_attentions, attention_states, strict=False)
        ]
        return [*given, *(kept or attention_states)]

    @property
    def _wanted(self):
        """Sizes of all states but those of the attentions."""
        return [*self.cell_sizes, *([self.fed_size] * bool(self.fed_size))]

    @property
    def _count(self):
        return len(self._wanted) + self.attention_count
