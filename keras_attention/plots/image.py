"""Plots of attention over an image, one for each token."""

import math
from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_attention.plots.figures import color_limits
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes
from keras_attention.plots.figures import text_style
from keras_attention.plots.pictures import read_arrays
from keras_attention.plots.pictures import read_tokens
from keras_attention.plots.pictures import real

CALLER = "plot_attention_over_image"
SIDE = 1.6  # inches: the longer side of each picture
TITLE = 0.4  # inches
PIXELS = 256  # of the longer side of enlarged weights
BLUR = 0.6  # cells of the grid: standard deviation of the enlargement


def plot_attention_over_image(
    image,
    weights,
    words: Sequence[str | bytes],
    grid: tuple[int, int] | None = None,
    columns: int | None = None,
    *,
    show_image: bool = True,
    cmap: str = "gray",
    alpha: float = 0.7,
    vmin: float | None = 0.0,
    vmax: float | None = None,
) -> np.ndarray:
    """Plot which part of an image each token of a caption attends to.

    For each token, the function draws the image with the attention weights of
    the token over it. The weights form a grid. They are upsampled to the size
    of the image with a Gaussian whose standard deviation is 0.6 grid cells.
    With the default colors, the image is dark where the weight is 0, and white
    where the weight is largest.

    Args:
        image: `(H, W)`, `(H, W, 1)`, `(H, W, 3)` or `(H, W, 4)`: floats
            between 0 and 1, or integers between 0 and 255.
        weights: `(T, rows, columns)`, or `(T, rows * columns)`: the grid row
            by row, as features `(rows, columns, D)` are flattened.
        words: `T` tokens, `str` or UTF-8 `bytes`. Empty tokens at the end are
            padding, and are removed.
        grid: Rows and columns of the features. Defaults to the rows and columns
            of `weights` if it has three axes, else to a square.
        columns: Number of plots side by side. Defaults to the number that fills
            a landscape page best.
        show_image: Whether to show the image without weights first. Defaults to
            `True`.
        cmap: Matplotlib colormap of the weights. Defaults to `"gray"`.
        alpha: Opacity of the weights, from 0 to 1. Defaults to `0.7`.
        vmin: Upsampled weight that is drawn darkest, or `None` for the smallest
            weight of all tokens.
        vmax: Upsampled weight that is drawn brightest, or `None` for the
            largest weight of all tokens. All tokens share one scale.

    Returns:
        A NumPy array of axes: first the axes of the image, if `show_image` is
        true, then the axes of each token. Nothing is shown or saved: use
        `axes[0].figure.savefig(...)`.

    Raises:
        ValueError: If `image` or `weights` has another shape, if values of
            `image` are out of range, if `grid` or the number of tokens does not
            match `weights`, or if `columns` is not positive.
        ImportError: If matplotlib is not installed.

    Example:

    >>> image, weights = np.zeros((32, 32, 3)), np.full((2, 16), 1 / 16)
    >>> axes = plot_attention_over_image(image, weights, ["a", "circle"])
    >>> [ax.get_title() for ax in axes]
    ['', 'a', 'circle']

    Reference:
        [Xu et al., 2015](https://arxiv.org/abs/1502.03044), figure 3.
    """
    _check_order(image, weights, words)
    image, maps = _image(image), _maps(weights, grid)
    flat = maps.reshape(len(maps), -1)
    words = read_tokens("words", words, [flat], 0)[0]
    words = words[: real(words)]
    maps = _enlarged(maps[: len(words)])
    height, width = image.shape[:2]
    size = SIDE * np.array([width, height]) / max(width, height)
    sizes = np.tile(size, (len(words) + show_image, 1))
    axes = make_axes(CALLER, sizes + np.array([0, TITLE]), columns)
    for ax in axes:
        ax.imshow(image, cmap="gray", vmin=0, vmax=1)
        ax.set_axis_off()
    look = {"cmap": cmap, "alpha": alpha, **color_limits([maps], vmin, vmax)}
    _draw_words(axes[show_image:], maps, words, look)
    fit(axes, sizes)
    return axes


def _check_order(image, weights, words):
    """Refuse arguments in the order of `plot_attention`."""
    counts = [len(x) if np.ndim(x) else 0 for x in (image, weights, words)]
    swapped = counts[0] == counts[2] != counts[1]
    if swapped or np.ndim(words) > 1 or np.asarray(weights).dtype.kind in "SU":
        shapes = [
            f"{name}.shape={np.shape(x)}"
            for name, x in (("image", image), ("weights", weights))
        ]
        raise ValueError(
            "`image`, `weights`, and `words` must be given in this order. "
            f"Received: {', '.join(shapes)}, words of shape "
            f"{np.shape(words)}. Call it as plot_attention_over_image(image, "
            "weights, words)."
        )


def _image(image):
    image = ops.convert_to_numpy(image)
    integers = np.issubdtype(image.dtype, np.integer)
    pixels = np.asarray(image, float) / (255 if integers else 1)
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    colors = pixels.ndim == 3 and pixels.shape[-1] in (3, 4)
    if not (pixels.ndim == 2 or colors) or not pixels.size:
        raise ValueError(
            "`image` must be one image (H, W) or (H, W, C), with 1, 3 or 4 "
            f"channels. Received: shape={image.shape}"
        )
    if not (pixels.min() >= 0 and pixels.max() <= 1):
        raise ValueError(
            "`image` must contain floats between 0 and 1, or integers between "
            f"0 and 255. Received: {image.dtype} from {image.min()} to "
            f"{image.max()}. If values are floats up to 255, pass `image / "
            "255`."
        )
    return pixels


def _maps(weights, grid):
    """Reshape weights to `(T, rows, columns)`."""
    parts = read_arrays(weights)
    shapes = {x.shape for x in parts}
    if len(shapes) != 1 or parts[0].ndim not in (1, 2) or not parts[0].size:
        raise ValueError(
            "`weights` must have the shape (T, rows * columns) or (T, rows, "
            f"columns), and must not be empty. Received: {len(parts)} of "
            f"shapes {sorted(shapes)}."
        )
    maps = np.stack(parts)
    own = maps.shape[1:]
    if grid is None:
        grid = [math.isqrt(own[0])] * 2 if len(own) == 1 else own
    fits = len(grid) == 2 and min(grid) > 0 and math.prod(grid) == own[0]
    if not (fits if len(own) == 1 else tuple(grid) == own):
        raise ValueError(
            f"{CALLER} needs the grid of `weights` as `grid=(rows, columns)`, "
            f"unless the grid is square. Received: grid={tuple(grid)} for "
            f"weights of shape {maps.shape}."
        )
    return maps.reshape(-1, *grid)


def _enlarged(maps):
    """Spread the weight of each cell with a Gaussian, `(T, pixels, pixels)`."""
    _, rows, columns = maps.shape
    pixels = PIXELS / max(rows, columns)
    down, across = _shares(rows, pixels), _shares(columns, pixels)
    return down @ maps @ across.T


def _shares(cells, pixels):
    """Compute the share of each cell in each pixel, along one axis."""
    count = math.ceil(cells * pixels)
    places = (np.arange(count) + 0.5) * cells / count
    distances = places[:, None] - (np.arange(cells) + 0.5)
    shares = np.exp(-0.5 * (distances / BLUR) ** 2)
    return shares / shares.sum(1, keepdims=True)


def _draw_words(axes, maps, words, look):
    style = text_style(CALLER, words)
    for ax, weights, word in zip(axes, maps, words, strict=True):
        box = ax.images[0].get_extent()
        ax.imshow(weights, extent=box, **look)
        ax.set_title(word, **style)
