"""The flat list of states that a decoder carries from step to step."""

from typing import NamedTuple


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

    @property
    def sizes(self) -> list[int]:
        """Sizes of all states but those of the attentions."""
        return [*self.cell_sizes, *([self.fed_size] if self.fed_size else [])]

    @property
    def count(self) -> int:
        """Number of all states."""
        return len(self.sizes) + self.attention_count

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
        own, fed = len(self.cell_sizes), len(self.sizes)
        if len(states) != self.count:
            raise ValueError(
                f"A step needs {self.count} states. Received: "
                f"{len(states)} states. `initial_state` makes the first ones."
            )
        return states[:own], states[own:fed], states[fed:]

    def check(self, states: list) -> None:
        """Check the flat list of initial states, of the cells or of all.

        Args:
            states: Flat list of the cells' states, or of all states.

        Raises:
            ValueError: If there are too few or too many, or one has another
                size.
        """
        sizes, own = [x.shape[-1] for x in states], len(self.cell_sizes)
        same = all(x == y for x, y in zip(sizes, self.sizes, strict=False))
        if len(states) not in (own, self.count) or not same:
            raise ValueError(
                f"The decoder needs {own} initial states of its cells, of "
                f"sizes {self.cell_sizes}, or all {self.count} states that it "
                "returned itself, to go on from there. Received: initial "
                f"states of sizes {sizes}. StateBridge(units="
                f"{self.cell_sizes[-1]}) maps an encoder's states to these."
            )
