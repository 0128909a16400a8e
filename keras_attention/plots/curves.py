"""Learning curves over epochs."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keras_attention.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_curves(
    history: Mapping[str, Sequence[float]], groups: Sequence[Sequence[str]]
) -> "Figure":
    """Plot the history of a training, one plot per group.

    Args:
        history: The values of all epochs by name, as in the attribute `history`
            of Keras' `History`.
        groups: The names to show in each plot.

    Returns:
        The figure.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    figures = require("matplotlib.figure", "plots", "draw_curves")
    size = 4.5 * len(groups), 3.5
    figure = figures.Figure(figsize=size, layout="constrained")
    plots = figure.subplots(1, len(groups), squeeze=False)[0]
    for ax, names in zip(plots, groups, strict=True):
        for name in names:
            values = history[name]
            ax.plot(range(1, len(values) + 1), values, label=name)
        ax.set_xlabel("epoch")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(frameon=False)
    return figure
