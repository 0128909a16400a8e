"""Pictures of heads: several attentions over one sentence."""

from collections.abc import Sequence

import numpy as np

from keras_attention.plots.matrices import draw_matrices
from keras_attention.plots.pictures import check_one_each
from keras_attention.plots.pictures import read_pictures


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
    """Draw the weights of each head, or of each of several attentions.

    Each picture is one of `plot_attention`. They share one color scale and
    their words, which only stand at the top and at the left of the grid.

    Args:
        weights: `(H, T, Tv)` of one sentence, or a list of `H` matrices.
        source_tokens: `Tv` tokens, `str` or UTF-8 `bytes`.
        target_tokens: `T` tokens, likewise.
        columns: The number of pictures side by side. Defaults to the number
            that fills a landscape page best.
        mean: Whether to add a last picture, the mean over the heads.
        titles: A title for each head. Defaults to `"head 1"`, `"head 2"`...
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: The weight drawn darkest, or `None` for the smallest there is.
        vmax: The weight drawn brightest, or `None` for the largest there is.
        colorbar: Whether to add a color bar.

    Returns:
        A NumPy array of `H` axes, and one more if `mean`.

    Raises:
        ValueError: If `weights` has another shape, if the tokens are those of
            several sentences, if the numbers of tokens or titles do not fit
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
            "different tokens for different heads. For several sentences, use "
            "plot_attention_batch."
        )
    if titles is None:
        titles = [f"head {n}" for n, _ in enumerate(pictures, 1)]
    check_one_each("titles", titles, pictures)
    if mean:
        average = np.mean([picture.matrix for picture in pictures], 0)
        pictures = [*pictures, pictures[0]._replace(matrix=average)]
        titles = [*titles, "mean"]
    look = {"cmap": cmap, "vmin": vmin, "vmax": vmax, "colorbar": colorbar}
    return draw_matrices(
        "plot_attention_heads",
        pictures,
        titles,
        columns=columns,
        shared_labels=True,
        **look,
    )
