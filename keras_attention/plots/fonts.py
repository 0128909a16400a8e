"""Fonts that have every character of the tokens, in any script."""

import functools
import unicodedata
import warnings
from collections.abc import Iterable

from keras_attention.extras import require

EAST_ASIAN = {"CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO"}


def text_style(caller: str, texts: Iterable[str]) -> dict:
    """Choose fonts that have every character of some texts.

    Matplotlib takes each glyph from the first family of a list that has it.
    The user's own families come first; others follow until no character is
    missing. If no font has a character, one warning says what to install.

    Args:
        caller: The function that the user called, for the warning.
        texts: What will be drawn.

    Returns:
        Arguments of a matplotlib text: `family`, and `parse_math=False`,
        since two dollar signs are no formula here.
    """
    matplotlib = require("matplotlib", "plots", caller)
    fonts = require("matplotlib.font_manager", "plots", caller)
    families = list(matplotlib.rcParams["font.family"])
    default = fonts.findfont(fonts.FontProperties(family=families))
    visible = {c for c in "".join(texts) if _is_visible(c)}
    missing = _missing(fonts, default, frozenset(visible))
    files = {font.name: font.fname for font in fonts.fontManager.ttflist}
    names = [name for name in files if "Last Resort" not in name]
    names.sort(key=lambda name: ("Sans" not in name, name))
    while missing:
        left = {name: _missing(fonts, files[name], missing) for name in names}
        best = min(left, key=lambda name: len(left[name]), default=None)
        if best is None or left[best] == missing:
            _warn_of(caller, missing)
            break
        families.append(best)
        missing = left[best]
    return {"family": families, "parse_math": False}


def columns_of(text: str) -> int:
    """Count the columns of a text: two for a wide character."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _is_visible(character):
    return unicodedata.category(character)[0] not in "CZ"


def _missing(fonts, path, characters):
    """Find the characters that a font does not have."""
    try:
        font = fonts.get_font(path)
    except (OSError, RuntimeError):  # a bitmap font, or a broken one
        return characters
    return frozenset(c for c in characters if not font.get_char_index(ord(c)))


@functools.cache
def _warn_of(caller, characters):
    scripts = {
        unicodedata.name(c, "?").split()[0] if c.isalpha() else "SYMBOLS"
        for c in characters
    }
    noto = {"CJK" if x in EAST_ASIAN else x.title() for x in scripts}
    warnings.warn(
        f"{caller} needs a font for these characters, and none that is "
        f"installed has them: {''.join(sorted(characters))} "
        f"({', '.join(sorted(scripts))}). Install one, such as "
        f"{' and '.join(f'Noto Sans {x}' for x in sorted(noto))}, and "
        "delete matplotlib's font list, in `matplotlib.get_cachedir()`.",
        stacklevel=5,  # the user's line: `caller` draws, and asks for fonts
    )
