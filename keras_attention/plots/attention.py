"""Plots of attention: the source tokens that each target token attends to."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.checks import check_count
from keras_attention.plots.figures import color_limits
from keras_attention.plots.figures import columns_of
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes
from keras_attention.plots.figures import text_style
from keras_attention.plots.pictures import ONE_EACH
from keras_attention.plots.pictures import read_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.36  # inches, for a label of ten points with a little air
UPRIGHT = 3  # columns: with a longer word, source labels are turned
MARK = re.compile("<.+>")  # which turns itself alone, such as </s>


def plot_attention(
    weights,
    source_tokens: Sequence,
    target_tokens: Sequence,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    titles: str | list[str] | None = None,
    cmap: str = "gray",
    vmin: float | None = 0.0,
    vmax: float | None = 1.0,
    colorbar: bool = False,
) -> "Axes | np.ndarray":
    """Plot attention as in papers: a row per target token, source on top.

    By default, a weight of 1 is white and a weight of 0 is black, as in the
    paper by Bahdanau et al. Tokens of any script are drawn with installed fonts
    that contain their characters. If there is no such font, matplotlib issues a
    warning: install a font, such as Noto Sans CJK, and delete matplotlib's font
    list in `matplotlib.get_cachedir()`. Empty tokens at the end are padding:
    they are removed, with their rows and columns.

    Args:
        weights: `(T, Tv)` for one plot. `(N, T, Tv)`, or a list of `N` matrices
            of any sizes, for `N` plots side by side, of one or several
            sentences. For more than a few, use `plot_attention_batch` or
            `plot_attention_heads`.
        source_tokens: `Tv` tokens, `str` or UTF-8 `bytes`; for several
            sentences, a list of such lists, with or without padding.
        target_tokens: `T` tokens, in the same form.
        ax: Matplotlib axes to draw on, one for each plot. Defaults to a new
            figure.
        titles: A title for each plot, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: Weight that is drawn darkest, or `None` for the smallest weight.
        vmax: Weight that is drawn brightest, or `None` for the largest weight.
            `None` makes small weights visible if attention is widely spread.
            All plots share one scale.
        colorbar: Whether to add a color bar.

    Returns:
        The axes, or a NumPy array of axes if `weights` contains several
        matrices. Nothing is shown or saved: use `ax.figure.savefig(...)`.

    Raises:
        ValueError: If `weights` has another shape, or if the numbers of tokens,
            titles or axes do not match `weights`.
        ImportError: If matplotlib is not installed.

    Example:

    >>> weights = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> ax = plot_attention(weights, ["Guten", "Morgen", "!"], ["hello", "!"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['hello', '!']

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), figure 3.
    """
    pictures, several = read_pictures(weights, source_tokens, target_tokens)
    look = cmap, vmin, vmax, colorbar
    columns = len(pictures)
    axes = _draw("plot_attention", pictures, titles, columns, look, ax)
    return axes if several else axes[0]


def plot_attention_batch(
    weights,
    source_tokens: Sequence,
    target_tokens: Sequence,
    columns: int | None = None,
    *,
    titles: str | list[str] | None = None,
    cmap: str = "gray",
    vmin: float | None = 0.0,
    vmax: float | None = 1.0,
    colorbar: bool = False,
) -> "Axes | np.ndarray":
    """Plot the attention of several sentences in a grid.

    Each plot looks like a plot of `plot_attention`. All plots share one color
    scale and one cell size. Padding is removed: empty tokens at the end, and
    rows and columns after the last token of a sentence.

    Args:
        weights: `(N, T, Tv)`, or a list of `N` matrices of any sizes. With one
            matrix `(T, Tv)`, the function does the same as `plot_attention`.
        source_tokens: A list of tokens, `str` or UTF-8 `bytes`, for each
            sentence, or one list for all sentences.
        target_tokens: Target tokens, in the same form.
        columns: Number of plots side by side. Defaults to the number that fills
            a landscape page best.
        titles: A title for each plot, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: Weight that is drawn darkest, or `None` for the smallest weight.
        vmax: Weight that is drawn brightest, or `None` for the largest weight.
        colorbar: Whether to add a color bar.

    Returns:
        A NumPy array of `N` axes, or the axes if `weights` is one matrix.

    Raises:
        ValueError: If `weights` has another shape, if the numbers of tokens or
            titles do not match `weights`, or if `columns` is not positive.
        ImportError: If matplotlib is not installed.

    Example:

    >>> weights = [[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [1.0, 0.0]]]
    >>> source = [["Guten", "Tag"], ["Hallo"]]
    >>> axes = plot_attention_batch(weights, source, [["good", "day"], ["hi"]])
    >>> [ax.images[0].get_array().shape for ax in axes]
    [(2, 2), (1, 1)]

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), figure 3.
    """
    pictures, several = read_pictures(weights, source_tokens, target_tokens)
    look = cmap, vmin, vmax, colorbar
    axes = _draw("plot_attention_batch", pictures, titles, columns, look)
    return axes if several else axes[0]


def plot_attention_heads(
    weights,
    source_tokens: Sequence,
    target_tokens: Sequence,
    columns: int | None = None,
    *,
    mean: bool = False,
    titles: list[str] | None = None,
    cmap: str = "gray",
    vmin: float | None = 0.0,
    vmax: float | None = 1.0,
    colorbar: bool = False,
) -> np.ndarray:
    """Plot the weights of each head, or of each attention layer of a cell.

    Each plot looks like a plot of `plot_attention`. All plots share one color
    scale. The tokens are the same for all plots, and are shown only at the top
    and left of the grid.

    Args:
        weights: `(H, T, Tv)` of one sentence, or a list of `H` matrices.
        source_tokens: `Tv` tokens, `str` or UTF-8 `bytes`.
        target_tokens: `T` tokens, in the same form.
        columns: Number of plots side by side. Defaults to the number that fills
            a landscape page best.
        mean: Whether to add a last plot that shows the mean over the heads.
        titles: A title for each head. Defaults to `"head 1"`, `"head 2"`...
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: Weight that is drawn darkest, or `None` for the smallest weight.
        vmax: Weight that is drawn brightest, or `None` for the largest weight.
        colorbar: Whether to add a color bar.

    Returns:
        A NumPy array of `H` axes, or of `H + 1` axes with `mean`.

    Raises:
        ValueError: If `weights` has another shape, if the tokens are those of
            several sentences, if the numbers of tokens or titles do not match
            `weights`, or if `columns` is not positive.
        ImportError: If matplotlib is not installed.

    Example:

    >>> weights = [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [1.0, 0.0]]]
    >>> source, target = ["Guten", "Tag"], ["good", "day"]
    >>> axes = plot_attention_heads(weights, source, target, mean=True)
    >>> [ax.get_title() for ax in axes]
    ['head 1', 'head 2', 'mean']
    """
    pictures, _ = read_pictures(weights, source_tokens, target_tokens)
    if any(picture[1:] != pictures[0][1:] for picture in pictures):
        raise ValueError(
            "plot_attention_heads needs the tokens of one sentence. Received: "
            "different tokens for each head. For several sentences, use "
            "plot_attention_batch."
        )
    if titles is None:
        titles = [f"head {n}" for n, _ in enumerate(pictures, 1)]
    check_count(ONE_EACH, "titles", titles, "matrices", pictures)
    if mean:
        average = np.mean([picture.matrix for picture in pictures], 0)
        pictures = [*pictures, pictures[0]._replace(matrix=average)]
        titles = [*titles, "mean"]
    look = cmap, vmin, vmax, colorbar
    caller = "plot_attention_heads"
    return _draw(caller, pictures, titles, columns, look, shared_labels=True)


def _draw(
    caller, pictures, titles, columns, look, ax=None, shared_labels=False
) -> np.ndarray:
    """Draw plots in a grid or on given axes, with one color scale.

    With `shared_labels`, only the first row shows source tokens, and only the
    first column shows target tokens.
    """
    cmap, vmin, vmax, colorbar = look
    if titles is None or isinstance(titles, str):
        titles = [titles] * len(pictures)
    check_count(ONE_EACH, "titles", titles, "matrices", pictures)
    sizes = CELL * np.array([p.matrix.shape[::-1] for p in pictures])
    if ax is None:
        rooms = sizes + _margins(pictures)
        axes = make_axes(caller, rooms, columns)
    else:
        axes = np.asarray(ax, dtype=object).reshape(-1)
        check_count(ONE_EACH, "ax", axes, "matrices", pictures)
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
    """Estimate the size of labels and titles in inches."""
    words = [(_longest(p.target), _longest(p.source)) for p in pictures]
    return 0.5 + 0.1 * np.array(words)


def _label(ax, picture, title, style):
    marks = [x for x in picture.source if MARK.fullmatch(x)]
    upright = _longest(x for x in picture.source if x not in marks) <= UPRIGHT
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(picture.source)), picture.source, **style)
    ax.set_yticks(range(len(picture.target)), picture.target, **style)
    for label in ax.get_xticklabels():
        stands = upright and columns_of(label.get_text()) <= UPRIGHT
        label.set_rotation(0 if stands else 90)
    ax.tick_params(length=0)
    if title is not None:
        ax.set_title(title, **style)


def _longest(labels):
    return max(map(columns_of, labels), default=0)
