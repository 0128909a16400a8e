"""Pictures of attention: the source words each target word attends to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plots.matrices import draw_matrices
from keras_attention.plots.pictures import read_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw attention as papers print it: a row per target word, source on top.

    White is all the attention and black is none, as in the reference. Tokens
    of any script are drawn with the installed fonts that have them; if there
    are none, one warning says what to install. Empty tokens at the end are
    padding: they are left out, with their rows and columns.

    Args:
        weights: `(T, Tv)` for one picture. `(N, T, Tv)`, or a list of `N`
            matrices of any sizes, for `N` pictures side by side, of several
            sentences or of one. For more than a few use
            `plot_attention_batch` or `plot_attention_heads`.
        source_tokens: `Tv` tokens, `str` or UTF-8 `bytes`; for several
            sentences a list of such lists, without padding if you like.
        target_tokens: `T` tokens, likewise.
        ax: Matplotlib axes to draw on, one for each picture. Defaults to a
            new figure.
        titles: A title for each picture, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: The weight drawn darkest, or `None` for the smallest there is.
        vmax: The weight drawn brightest, or `None` for the largest there is,
            which shows more where attention is spread thin. All pictures
            share one scale.
        colorbar: Whether to add a color bar.

    Returns:
        The axes, or a NumPy array of them if `weights` is several matrices.
        Nothing is shown or saved: `ax.figure.savefig(...)` does that.

    Raises:
        ValueError: If `weights` has another shape, or if the numbers of
            tokens, titles or axes do not fit it.
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
    look = {"cmap": cmap, "vmin": vmin, "vmax": vmax, "colorbar": colorbar}
    axes = draw_matrices(
        "plot_attention", pictures, titles, columns=len(pictures), ax=ax, **look
    )
    return axes if several else axes[0]
