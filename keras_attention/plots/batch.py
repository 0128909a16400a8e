"""Pictures of a batch: the attention of several sentences, in a grid."""

from keras_attention.plots.matrices import draw_matrices
from keras_attention.plots.pictures import read_pictures


def plot_attention_batch(
    weights,
    source_tokens,
    target_tokens,
    columns: int | None = None,
    *,
    titles: str | list[str] | None = None,
    cmap: str = "gray",
    vmin: float | None = 0.0,
    vmax: float | None = 1.0,
    colorbar: bool = False,
):
    """Draw the attention of several sentences in a grid.

    Each picture is that of `plot_attention`. Colors and the size of a word
    are the same in all of them, and padding is left out: tokens that are
    empty, and whatever comes after the last token of a sentence.

    Args:
        weights: `(N, T, Tv)`, or a list of `N` matrices of any sizes. With
            `(T, Tv)` this is `plot_attention`.
        source_tokens: A list of tokens, `str` or UTF-8 `bytes`, for each
            sentence; one list if the source is the same.
        target_tokens: Likewise.
        columns: How many pictures stand side by side. Defaults to the number
            that fills a page in landscape best.
        titles: A title for each picture, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: The weight drawn darkest, or `None` for the smallest there is.
        vmax: The weight drawn brightest, or `None` for the largest there is.
        colorbar: Whether to add the scale of colors.

    Returns:
        A NumPy array of `N` axes, or the axes if `weights` is one matrix.

    Raises:
        ValueError: If `weights` is neither, if numbers of tokens or titles do
            not fit it, or if `columns` is not positive.
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
    axes = draw_matrices(
        pictures,
        titles,
        columns=columns,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
        colorbar=colorbar,
    )
    return axes if several else axes[0]
