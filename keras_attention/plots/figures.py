"""Figures: a grid of pictures, laid out by matplotlib, and its fonts."""

import functools
import unicodedata
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from keras_attention.checks import check_integer
from keras_attention.extras import require

LONGEST_SIDE = 24.0  # inches: a larger figure gets fewer dots per inch
PAGE = 1.5  # width by height of the page that a grid should fill
AIR = 0.08  # inches around each picture and its labels
BAR = 0.16  # inches: thickness of the color bar


def make_axes(caller: str, rooms, columns: int | None = None) -> np.ndarray:
    """Create a figure with axes for plots, row by row from the top left.

    Args:
        caller: The function that the user called, for errors.
        rooms: Width and height of each plot with labels and title, in inches,
            `(N, 2)`; an estimate is enough.
        columns: Number of plots side by side. Defaults to the number that fills
            a landscape page best.

    Returns:
        Axes `(N,)`. Call `fit` when everything is drawn.

    Raises:
        ValueError: If `columns` is not positive.
        ImportError: If matplotlib is not installed.
    """
    pyplot = require("matplotlib.pyplot", "plots", caller)
    columns = _best_columns(rooms) if columns is None else columns
    check_integer("columns", columns)
    widths, heights = _tracks(rooms, columns)
    figure = pyplot.figure(
        # More than is needed: `fit` takes away what is left over.
        figsize=(1.5 * sum(widths), 1.5 * sum(heights)),
        layout="constrained",
    )
    space = {"w_pad": AIR, "h_pad": AIR, "wspace": 0, "hspace": 0}
    figure.get_layout_engine().set(**space)
    grid = figure.add_gridspec(len(heights), len(widths))
    places = [grid[n] for n in range(len(rooms))]
    return np.array([figure.add_subplot(x, anchor="NW") for x in places])


def fit(axes: Sequence, sizes, image=None):
    """Resize a figure so that its plots have given sizes.

    Each column becomes as wide as its widest plot or title, and each row as
    high as its highest plot. A smaller plot keeps its size, in the top left
    corner of its cell.

    Args:
        axes: The result of `make_axes`, with everything drawn.
        sizes: Width and height of each plot in inches, `(N, 2)`.
        image: The result of `Axes.imshow` for one plot, to add its color bar to
            the right of all plots. Defaults to `None`.
    """
    figure, grid = axes[0].figure, axes[0].get_gridspec()
    places = np.array(sizes, float)
    for ax, place in zip(axes, places, strict=True):
        ax.set_aspect("auto")  # to fill its place while that is too large
        width = ax.title.get_window_extent().width / figure.dpi
        if width > place[0]:  # the layout makes no room for titles
            place[0] = width
            ax.title.set(x=0, ha="left")
    wanted = _tracks(places, grid.ncols)
    grid.set_width_ratios(wanted[0])
    grid.set_height_ratios(wanted[1])
    for n, (ax, size) in enumerate(zip(axes, sizes, strict=True)):
        row, column = divmod(n, grid.ncols)
        share = size / (wanted[0][column], wanted[1][row])
        ax.set_axes_locator(functools.partial(_top_left, share))
    _resize(axes[0], wanted)
    if image is not None:
        thin = sum(wanted[1]) / BAR
        figure.colorbar(image, ax=list(axes), aspect=thin, panchor=False)
        _resize(axes[0], wanted)
        _resize(axes[0], wanted)  # the gap before the bar grew with the figure
    for ax in axes:
        ax.set_aspect("equal")
    longest = max(figure.get_size_inches())
    figure.set_dpi(figure.get_dpi() * min(1.0, LONGEST_SIDE / longest))


def color_limits(
    arrays: Sequence[np.ndarray], vmin: float | None, vmax: float | None
) -> dict[str, float]:
    """Compute one color scale for all plots, so that they are comparable.

    Args:
        arrays: The weights of each plot.
        vmin: Weight that is drawn darkest, or `None` for the smallest weight.
        vmax: Weight that is drawn brightest, or `None` for the largest weight.

    Returns:
        Arguments of `Axes.imshow`.
    """
    return {
        "vmin": min(x.min() for x in arrays) if vmin is None else vmin,
        "vmax": max(x.max() for x in arrays) if vmax is None else vmax,
    }


def _resize(ax, wanted):
    """Enlarge the figure if its layout leaves too little space for plots."""
    figure = ax.figure
    figure.get_layout_engine().execute(figure)
    size = figure.get_size_inches()
    scale = ax.get_position(original=True).size * size / [x[0] for x in wanted]
    figure.set_size_inches(size + [sum(x) for x in wanted] * (1 - scale))


def _best_columns(rooms):
    def page(columns):  # its width, per place that is not empty
        widths, heights = _tracks(rooms, columns)
        places = len(widths) * len(heights)
        return max(sum(widths), PAGE * sum(heights)) * places / len(rooms)

    return min(range(1, len(rooms) + 1), key=page)


def _tracks(sizes, columns):
    """Return the width of each column and the height of each row."""
    columns = min(columns, len(sizes))
    rows = -(-len(sizes) // columns)
    grid = np.zeros((rows * columns, 2))
    grid[: len(sizes)] = sizes
    grid = grid.reshape(rows, columns, 2)
    return grid[..., 0].max(0), grid[..., 1].max(1)


def _top_left(share, ax, _renderer):
    """Locate axes in the top left corner of their cell in the layout."""
    place = ax.get_position(original=True)
    return place.shrunk(*share).anchored("NW", place)


def text_style(caller: str, texts: Iterable[str]) -> dict:
    """Choose fonts that contain every character of some texts.

    Matplotlib takes each glyph from the first family of a list that contains
    it, and warns about missing glyphs. The list starts with the families that
    the user has configured, followed by installed families that contain a
    character that is still missing.

    Args:
        caller: The function that the user called, for errors.
        texts: The texts to draw.

    Returns:
        Arguments of a matplotlib text: `family`, and `parse_math=False`,
        because two dollar signs do not delimit a formula here.
    """
    fonts = require("matplotlib.font_manager", "plots", caller)
    properties = fonts.FontProperties()  # of the user
    families = [*properties.get_family()]
    missing = {ord(c) for c in "".join(texts) if c.isprintable()} - {ord(" ")}
    missing -= _characters(fonts, fonts.findfont(properties))
    installed = {x.name: x.fname for x in fonts.fontManager.ttflist}
    for name in sorted(installed, key=lambda x: ("Sans" not in x, x)):
        if missing and "Last Resort" not in name:
            found = missing & _characters(fonts, installed[name])
            families += [name] if found else []
            missing -= found
    return {"family": families, "parse_math": False}


def columns_of(text: str) -> int:
    """Count the columns of a text; a wide character counts as two."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _characters(fonts, path):
    """Return the code points that a font contains."""
    try:
        return fonts.get_font(path).get_charmap().keys()
    except (OSError, RuntimeError):  # a bitmap font, or a broken one
        return set()
