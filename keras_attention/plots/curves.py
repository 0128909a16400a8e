"""Curves of a training, epoch by epoch."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keras_attention.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_curves(
    history: Mapping[str, Sequence[float]], groups: Sequence[Sequence[str]]
) -> "Figure":
    """Draw what a training has measured, one plot a group.

    Args:
        history: The numbers of all epochs by their names, as the attribute
            `history` of Keras' `History` has them.
        groups: The names in each plot.

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
