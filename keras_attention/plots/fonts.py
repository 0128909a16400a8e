"""Fonts that have every character of the tokens, whatever their script."""

import functools
import unicodedata
import warnings

from keras_attention.extras import require

EAST_ASIAN = {"CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO"}


def text_style(texts: list[str]) -> dict:
    """Say how matplotlib has to draw texts, so that all can be read.

    Matplotlib takes each glyph from the first family of a list that has it,
    so that the families here have all characters together, the user's first.
    If no font has them, one warning says what to install.

    Args:
        texts: What will be drawn.

    Returns:
        Arguments of a matplotlib text: `family`, and no `parse_math`, since
        two dollar signs are no formula here.
    """
    matplotlib = require("matplotlib", "plots", "plot_attention")
    fonts = require("matplotlib.font_manager", "plots", "plot_attention")
    families = list(matplotlib.rcParams["font.family"])
    default = fonts.findfont(fonts.FontProperties(family=families))
    text = "".join(texts)
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
    return {"family": families, "parse_math": False}


def columns_of(text: str) -> int:
    """Count the columns of a text: two for a wide character."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


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
        stacklevel=5,  # who called plot_..., which draws, which asks for fonts
    )
