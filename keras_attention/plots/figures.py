"""Figures: pictures of any sizes in a grid, in inches that hold."""

import functools
import warnings
from collections.abc import Sequence

import numpy as np

from keras_attention.checks import check_integer
from keras_attention.extras import require

LONGEST_SIDE = 24.0  # inches: a larger figure gets fewer dots an inch
PAGE = 1.5  # width by height of the page that a grid should fill
AIR = 0.08  # inches around each picture and its labels
BAR = 0.16  # inches: how thick the scale of colors is


def make_axes(sizes, margins, columns: int | None = None) -> np.ndarray:
    """Make a figure with axes for pictures, row by row from the top left.

    Each column is as wide as its widest picture, each row as high as its
    highest; a smaller picture stays small, in the top left of its place. So
    a word takes the same space in every picture. Call `fit` when all is
    drawn.

    Args:
        sizes: Width and height of each picture in inches.
        margins: Likewise of its labels; a guess is enough.
        columns: How many pictures stand side by side. Defaults to the number
            that fills a page in landscape best.

    Returns:
        Axes `(N,)`.

    Raises:
        ValueError: If `columns` is not positive.
        ImportError: If matplotlib is not installed.
    """
    pyplot = require("matplotlib.pyplot", "plots", "plot_attention")
    sizes, margins = np.asarray(sizes, float), np.asarray(margins, float)
    if columns is None:
        columns = _best_columns(sizes + margins)
    check_integer("columns", columns)
    widths, heights = _tracks(sizes, columns)
    figure, axes = pyplot.subplots(
        len(heights),
        len(widths),
        figsize=[sum(track) for track in _tracks(sizes + margins, columns)],
        width_ratios=widths,
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    space = {"w_pad": AIR, "h_pad": AIR, "wspace": 0, "hspace": 0}
    figure.get_layout_engine().set(**space)
    axes = axes.reshape(-1)
    for ax in axes[len(sizes) :]:
        ax.remove()
    for n, (ax, size) in enumerate(zip(axes, sizes, strict=False)):
        row, column = divmod(n, len(widths))
        share = size / (widths[column], heights[row])
        ax.set_axes_locator(functools.partial(_top_left, share))
        ax.set_anchor("NW")
    return axes[: len(sizes)]


def fit(axes: Sequence):
    """Give a figure the size at which its pictures have theirs.

    Labels, titles and the scale of colors have been measured by then, so
    that nothing is cut off and no space is left over.

    Args:
        axes: What `make_axes` returned.
    """
    figure, grid = axes[0].figure, axes[0].get_gridspec()
    tracks = grid.get_width_ratios(), grid.get_height_ratios()
    inches = np.array([sum(track) for track in tracks])
    first = np.array([track[0] for track in tracks])
    _arrange(figure)
    overhang = max(map(_overhang, axes))
    figure.get_layout_engine().set(w_pad=AIR + overhang)
    size = figure.get_size_inches()
    size[0] += 2 * overhang * grid.ncols
    for _ in range(2):  # a scale of colors grows with the figure
        figure.set_size_inches(size)
        _arrange(figure)
        found = axes[0].get_position(original=True).size * size / first
        size = size + inches * (1 - found)
    figure.set_dpi(figure.get_dpi() * min(1.0, LONGEST_SIDE / size.max()))
    figure.set_size_inches(size)


def add_colorbar(axes: Sequence, image):
    """Add the scale of colors, to the right of all pictures.

    Args:
        axes: The pictures.
        image: What `Axes.imshow` returned for one of them.
    """
    figure, length = axes[0].figure, 0.8
    figure.colorbar(
        image,
        ax=list(axes),
        shrink=length,
        aspect=length * figure.get_size_inches()[1] / BAR,
        anchor=(0.0, 0.5),
        panchor=False,  # pictures stay where they are
    )


def color_limits(arrays, vmin: float | None, vmax: float | None) -> dict:
    """Give pictures one scale, so that they can be compared.

    Args:
        arrays: The weights of every picture.
        vmin: The darkest weight, or `None` for the smallest of all.
        vmax: The brightest weight, or `None` for the largest of all.

    Returns:
        Arguments of `Axes.imshow`.
    """
    return {
        "vmin": min(x.min() for x in arrays) if vmin is None else vmin,
        "vmax": max(x.max() for x in arrays) if vmax is None else vmax,
    }


def _arrange(figure):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # `text_style` has told it
        figure.get_layout_engine().execute(figure)


def _overhang(ax):
    """Measure in inches how far a title is wider than what is below it.

    Matplotlib's layout makes no room for that.
    """
    below = ax.get_tightbbox(for_layout_only=True)  # puts the title in place
    title = ax.title.get_window_extent()
    sides = title.x0 - below.x0, below.x1 - title.x1
    return max(0.0, -min(sides)) / ax.figure.dpi


def _best_columns(sizes):
    def page(columns):  # its width, for each place that is not left empty
        widths, heights = _tracks(sizes, columns)
        places = len(widths) * len(heights)
        return max(sum(widths), PAGE * sum(heights)) * places / len(sizes)

    return min(range(1, len(sizes) + 1), key=page)


def _tracks(sizes, columns):
    """Find the width of each column, and the height of each row."""
    columns = min(columns, len(sizes))
    rows = -(-len(sizes) // columns)
    grid = np.zeros((rows * columns, 2))
    grid[: len(sizes)] = sizes
    grid = grid.reshape(rows, columns, 2)
    return grid[..., 0].max(0), grid[..., 1].max(1)


def _top_left(share, ax, _renderer):
    """Place axes where they take a share of what the layout gave them."""
    transforms = require("matplotlib.transforms", "plots", "plot_attention")
    place = ax.get_position(original=True)
    width, height = place.size * share
    return transforms.Bbox.from_bounds(
        place.x0, place.y1 - height, width, height
    )
