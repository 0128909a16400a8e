"""Pictures of a batch: the attention of several sentences, in a grid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plots.matrices import draw_matrices
from keras_attention.plots.pictures import read_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw the attention of several sentences in a grid.

    Each picture is one of `plot_attention`. All of them share one color scale
    and one size of a word. Padding is left out: empty tokens at the end, and
    what comes after the last token of a sentence.

    Args:
        weights: `(N, T, Tv)`, or a list of `N` matrices of any sizes. With
            `(T, Tv)` this is `plot_attention`.
        source_tokens: A list of tokens, `str` or UTF-8 `bytes`, for each
            sentence, or one list for all.
        target_tokens: Likewise.
        columns: The number of pictures side by side. Defaults to the number
            that fills a landscape page best.
        titles: A title for each picture, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: The weight drawn darkest, or `None` for the smallest there is.
        vmax: The weight drawn brightest, or `None` for the largest there is.
        colorbar: Whether to add a color bar.

    Returns:
        A NumPy array of `N` axes, or the axes if `weights` is one matrix.

    Raises:
        ValueError: If `weights` has another shape, if the numbers of tokens
            or titles do not fit it, or if `columns` is not positive.
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
    look = {"cmap": cmap, "vmin": vmin, "vmax": vmax, "colorbar": colorbar}
    axes = draw_matrices(
        "plot_attention_batch", pictures, titles, columns=columns, **look
    )
    return axes if several else axes[0]
