"""Matrices of attention, drawn: a row a target word, source words on top."""

import numpy as np

from keras_attention.plots.figures import add_colorbar
from keras_attention.plots.figures import color_limits
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes
from keras_attention.plots.fonts import columns_of
from keras_attention.plots.fonts import text_style
from keras_attention.plots.pictures import check_one_each

CELL = 0.36  # inches, for a label of ten points with a little air
UPRIGHT = 3  # columns: a longer source label is turned by 90 degrees


def draw_matrices(
    pictures,
    titles,
    *,
    columns=None,
    ax=None,
    shared_labels=False,
    cmap,
    vmin,
    vmax,
    colorbar,
) -> np.ndarray:
    """Draw pictures of attention in a grid, at one scale.

    Args:
        pictures: What `read_pictures` returned.
        titles: A title for each picture, or one for all, or `None`.
        columns: How many stand side by side, or `None`.
        ax: Axes to draw on, one for each picture, or `None`.
        shared_labels: Whether source words stand over the first row alone,
            and target words beside the first column.
        cmap: Matplotlib colormap.
        vmin: The weight drawn darkest, or `None`.
        vmax: The weight drawn brightest, or `None`.
        colorbar: Whether to add the scale of colors.

    Returns:
        Axes `(N,)`.

    Raises:
        ValueError: If numbers of titles, columns or axes do not fit.
        ImportError: If matplotlib is not installed.
    """
    if titles is None or isinstance(titles, str):
        titles = [titles] * len(pictures)
    check_one_each("titles", titles, pictures)
    axes = _new_axes(pictures, columns) if ax is None else _given(ax, pictures)
    limits = color_limits([p.matrix for p in pictures], vmin, vmax)
    words = [word for p in pictures for word in p.source + p.target]
    style = text_style([*words, *(title or "" for title in titles)])
    for axis, picture, title in zip(axes, pictures, titles, strict=True):
        image = axis.imshow(picture.matrix, cmap=cmap, **limits)
        _label(axis, picture, title, style)
    if shared_labels:
        for axis in axes:
            place = axis.get_subplotspec()
            axis.tick_params("x", labeltop=place.is_first_row())
            axis.tick_params("y", labelleft=place.is_first_col())
    if colorbar:
        add_colorbar(axes, image)
    if ax is None:
        fit(axes)
    return axes


def _new_axes(pictures, columns):
    sizes = [CELL * np.array(p.matrix.shape[::-1]) for p in pictures]
    margins = [
        [0.5 + 0.1 * _longest(labels) for labels in (p.target, p.source)]
        for p in pictures
    ]
    return make_axes(sizes, margins, columns)


def _given(ax, pictures):
    axes = np.asarray(ax, dtype=object).reshape(-1)
    check_one_each("ax", axes, pictures)
    return axes


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
