"""Matrices of attention: a row per target word, source words on top."""

import numpy as np

from keras_attention.plots.figures import color_limits
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes
from keras_attention.plots.fonts import columns_of
from keras_attention.plots.fonts import text_style
from keras_attention.plots.pictures import check_one_each

CELL = 0.36  # inches, for a label of ten points with a little air
UPRIGHT = 3  # columns: a longer source label is turned by 90 degrees


def draw_matrices(
    caller: str,
    pictures: list,
    titles: str | list[str] | None,
    *,
    columns: int | None = None,
    ax=None,
    shared_labels: bool = False,
    cmap: str,
    vmin: float | None,
    vmax: float | None,
    colorbar: bool,
) -> np.ndarray:
    """Draw pictures of attention in a grid, with one color scale.

    Args:
        caller: The function that the user called, for errors and warnings.
        pictures: What `read_pictures` returned.
        titles: A title for each picture, or one for all, or `None`.
        columns: The number of pictures side by side. Defaults to the number
            that fills a landscape page best.
        ax: Axes to draw on, one for each picture. Defaults to a new figure.
        shared_labels: Whether only the first row shows source words, and
            only the first column target words.
        cmap: Matplotlib colormap.
        vmin: The weight drawn darkest, or `None`.
        vmax: The weight drawn brightest, or `None`.
        colorbar: Whether to add a color bar.

    Returns:
        Axes `(N,)`.

    Raises:
        ValueError: If numbers of titles, columns or axes do not fit.
        ImportError: If matplotlib is not installed.
    """
    if titles is None or isinstance(titles, str):
        titles = [titles] * len(pictures)
    check_one_each("titles", titles, pictures)
    sizes = CELL * np.array([p.matrix.shape[::-1] for p in pictures])
    if ax is None:
        rooms = sizes + _margins(pictures)
        axes = make_axes(caller, rooms, columns)
    else:
        axes = np.asarray(ax, dtype=object).reshape(-1)
        check_one_each("ax", axes, pictures)
    limits = color_limits([p.matrix for p in pictures], vmin, vmax)
    words = [word for p in pictures for word in p.source + p.target]
    style = text_style(caller, [*words, *(title or "" for title in titles)])
    for axis, picture, title in zip(axes, pictures, titles, strict=True):
        image = axis.imshow(picture.matrix, cmap=cmap, **limits)
        _label(axis, picture, title, style)
        if shared_labels:
            axis.label_outer()
    if ax is None:
        fit(axes, sizes, image if colorbar else None)
    elif colorbar:
        axes[0].figure.colorbar(image, ax=list(axes))
    return axes


def _margins(pictures):
    """Estimate the inches that labels and titles take."""
    words = [(_longest(p.target), _longest(p.source)) for p in pictures]
    return 0.5 + 0.1 * np.array(words)


def _label(ax, picture, title, style):
    upright = _longest(picture.source) <= UPRIGHT
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(picture.source)), picture.source, **style)
    ax.set_yticks(range(len(picture.target)), picture.target, **style)
    ax.tick_params("x", rotation=0 if upright else 90)
    ax.tick_params(length=0)
    if title is not None:
        ax.set_title(title, **style)


def _longest(labels):
    return max(map(columns_of, labels), default=0)
