"""Pictures of attention: which source word each target word looked at."""

import functools
import unicodedata
import warnings
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_attention.extras import require

CELL = 0.36  # inches, for a label of ten points with a little air
LONGEST_SIDE = 24.0  # inches: a larger figure gets fewer dots an inch
UPRIGHT = 3  # columns: a longer source label is turned by 90 degrees
EAST_ASIAN = {"CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO"}


class _Picture(NamedTuple):
    matrix: np.ndarray  # (T, Tv)
    source: list[str]
    target: list[str]


def plot_attention(
    weights,
    source_tokens,
    target_tokens,
    ax=None,
    *,
    titles: str | list[str] | None = None,
    cmap: str = "gray",
    vmin: float | None = 0.0,
    vmax: float | None = 1.0,
    colorbar: bool = False,
):
    """Draw attention as papers print it: a row a target word, source on top.

    White is all the attention and black is none, as in the reference. Tokens
    of any script are drawn with the installed fonts that have them; if none
    has, one warning says what to install. Tokens that are empty at the end
    are padding: they are left out, with their rows and columns.

    Args:
        weights: `(T, Tv)` for one picture. `(N, T, Tv)`, or a list of `N`
            matrices of any sizes, for `N` pictures side by side: heads of
            one sentence, or several sentences.
        source_tokens: `Tv` tokens, `str` or UTF-8 `bytes`; for several
            sentences a list of such lists.
        target_tokens: `T` tokens, likewise.
        ax: Matplotlib axes to draw on, one for each picture. Defaults to a
            new figure of a fitting size.
        titles: A title for each picture, or one for all. Defaults to none.
        cmap: Matplotlib colormap. Defaults to `"gray"`.
        vmin: The weight drawn darkest, or `None` for the smallest there is.
        vmax: The weight drawn brightest, or `None` for the largest there is;
            that shows more where attention is spread thin. Between pictures
            the scale is the same.
        colorbar: Whether to add the scale of colors.

    Returns:
        The axes, or a NumPy array of them if `weights` is several matrices.
        Nothing is shown or saved: `ax.figure.savefig(...)` does that.

    Raises:
        ValueError: If `weights` is neither, or numbers of tokens, titles or
            axes do not fit it.
        ImportError: If matplotlib is not installed.

    Example:

    >>> weights = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> ax = plot_attention(weights, ["Guten", "Morgen", "!"], ["hello", "!"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['hello', '!']

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), figure 3.
    """
    matrices, several = _matrices(weights)
    sources = _sentences("source_tokens", source_tokens, matrices, 1)
    targets = _sentences("target_tokens", target_tokens, matrices, 0)
    pictures = list(map(_trimmed, matrices, sources, targets))
    if titles is None or isinstance(titles, str):
        titles = [titles] * len(pictures)
    _same_number("titles", titles, pictures)
    axes = _axes(ax, pictures)
    vmin = min(p.matrix.min() for p in pictures) if vmin is None else vmin
    vmax = max(p.matrix.max() for p in pictures) if vmax is None else vmax
    for axis, picture, title in zip(axes, pictures, titles, strict=True):
        image = axis.imshow(picture.matrix, cmap=cmap, vmin=vmin, vmax=vmax)
        _label(axis, picture, title)
    if colorbar:
        axes[0].figure.colorbar(image, ax=list(axes), shrink=0.8)
    return axes if several else axes[0]


def _matrices(weights):
    parts = weights
    if not isinstance(weights, (list, tuple)):
        parts = np.atleast_1d(ops.convert_to_numpy(weights))
    parts = [np.asarray(ops.convert_to_numpy(x), float) for x in parts]
    shapes = {x.shape for x in parts}
    several = {len(shape) for shape in shapes} == {2}
    rows = {len(shape) for shape in shapes} == {1} and len(shapes) == 1
    if not (several or rows) or any(0 in shape for shape in shapes):
        raise ValueError(
            "`weights` must be one matrix (T, Tv), or several of them, and "
            f"not empty. Received: {len(parts)} of shapes {sorted(shapes)}. "
            "Of a batch of searched texts, take one: `weights[0]`."
        )
    return (parts if several else [np.stack(parts)]), several


def _sentences(name, tokens, matrices, axis):
    tokens = np.asarray(tokens).tolist() if hasattr(tokens, "shape") else tokens
    nested = any(isinstance(x, (list, tuple, np.ndarray)) for x in tokens)
    sentences = tokens if nested else [tokens] * len(matrices)
    _same_number(name, sentences, matrices)
    for sentence, matrix in zip(sentences, matrices, strict=True):
        if len(sentence) != matrix.shape[axis]:
            raise ValueError(
                f"`{name}` needs one token for each "
                f"{('row', 'column')[axis]} of `weights`. Received: "
                f"{len(sentence)} tokens for weights of shape {matrix.shape}."
            )
    return [[_text(token) for token in sentence] for sentence in sentences]


def _text(token):
    if isinstance(token, bytes):
        return token.decode("utf-8", errors="replace")
    return str(token)


def _same_number(name, values, pictures):
    if len(values) != len(pictures):
        raise ValueError(
            f"`{name}` needs one entry for each matrix of `weights`. "
            f"Received: {len(values)} for {len(pictures)}."
        )


def _trimmed(matrix, source, target):
    def end(tokens):
        return max((n for n, token in enumerate(tokens, 1) if token), default=1)

    columns, rows = end(source), end(target)
    return _Picture(matrix[:rows, :columns], source[:columns], target[:rows])


def _axes(ax, pictures):
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plots", "plot_attention")
        widths, heights = zip(*map(_inches, pictures), strict=True)
        size = sum(widths), max(heights)
        dots = pyplot.rcParams["figure.dpi"]
        _, axes = pyplot.subplots(
            1,
            len(pictures),
            figsize=size,
            dpi=dots * min(1.0, LONGEST_SIDE / max(size)),
            width_ratios=widths,
            squeeze=False,
            layout="constrained",
        )
        return axes[0]
    axes = np.asarray(ax, dtype=object).reshape(-1)
    _same_number("ax", axes, pictures)
    return axes


def _inches(picture):
    rows, columns = picture.matrix.shape
    left = 0.1 * max(map(_columns, picture.target))
    above = 0.1 * max(map(_columns, picture.source))
    return CELL * columns + left + 0.5, CELL * rows + above + 0.5


def _columns(text):  # two for a wide character
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _label(ax, picture, title):
    text = "".join([*picture.source, *picture.target, title or ""])
    style = {
        "family": _families(text),
        "parse_math": False,  # two dollar signs are no formula here
    }
    upright = max(map(_columns, picture.source)) <= UPRIGHT
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(picture.source)), picture.source, **style)
    ax.set_yticks(range(len(picture.target)), picture.target, **style)
    ax.tick_params("x", rotation=0 if upright else 90)
    ax.tick_params(length=0)
    if title is not None:
        ax.set_title(title, **style)


def _families(text):
    """List font families that together have the characters, the user's first.

    Matplotlib takes each glyph from the first family of the list that has it.
    """
    matplotlib = require("matplotlib", "plots", "plot_attention")
    fonts = require("matplotlib.font_manager", "plots", "plot_attention")
    families = list(matplotlib.rcParams["font.family"])
    default = fonts.findfont(fonts.FontProperties(family=families))
    visible = {c for c in text if unicodedata.category(c)[0] not in "CZ"}
    missing = _missing(default, frozenset(visible))
    files = {font.name: font.fname for font in fonts.fontManager.ttflist}
    names = [name for name in files if "Last Resort" not in name]
    names.sort(key=lambda name: ("Sans" not in name, name))
    while missing:
        left = {name: _missing(files[name], missing) for name in names}
        best = min(left, key=lambda name: len(left[name]), default=None)
        if best is None or left[best] == missing:
            break
        families.append(best)
        missing = left[best]
    if missing:
        _warn_of(missing)
    return families


def _missing(path, characters):
    fonts = require("matplotlib.font_manager", "plots", "plot_attention")
    try:
        font = fonts.get_font(path)
    except (OSError, RuntimeError):  # a font of bitmaps, or a broken one
        return characters
    return frozenset(c for c in characters if not font.get_char_index(ord(c)))


@functools.cache
def _warn_of(characters):
    scripts = {
        unicodedata.name(c, "?").split()[0] if c.isalpha() else "SYMBOLS"
        for c in characters
    }
    noto = {"CJK" if x in EAST_ASIAN else x.title() for x in scripts}
    warnings.warn(
        "plot_attention needs a font for these characters, and none that is "
        f"installed has them: {''.join(sorted(characters))} "
        f"({', '.join(sorted(scripts))}). Install one, such as "
        f"{' and '.join(f'Noto Sans {x}' for x in sorted(noto))}, and "
        "delete matplotlib's list of fonts, in `matplotlib.get_cachedir()`.",
        stacklevel=5,
    )
