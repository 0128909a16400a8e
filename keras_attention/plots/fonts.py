"""Fonts that have every character of the tokens, in any script."""

import unicodedata
from collections.abc import Iterable

from keras_attention.extras import require


def text_style(caller: str, texts: Iterable[str]) -> dict:
    """Choose fonts that have every character of some texts.

    Matplotlib takes each glyph from the first family of a list that has it,
    and warns of a glyph that none has. The user's own families come first;
    then those installed ones that have a character that is still missing.

    Args:
        caller: The function that the user called, for errors.
        texts: What will be drawn.

    Returns:
        Arguments of a matplotlib text: `family`, and `parse_math=False`,
        since two dollar signs are no formula here.
    """
    fonts = require("matplotlib.font_manager", "plots", caller)
    properties = fonts.FontProperties()  # of the user
    families = [*properties.get_family()]
    missing = {ord(c) for c in "".join(texts) if c.isprintable()} - {ord(" ")}
    missing -= _characters(fonts, fonts.findfont(properties))
    installed = {x.name: x.fname for x in fonts.fontManager.ttflist}
    for name in sorted(installed, key=lambda x: ("Sans" not in x, x)):
        if missing and "Last Resort" not in name:
            found = missing & _characters(fonts, installed[name])
            families += [name] if found else []
            missing -= found
    return {"family": families, "parse_math": False}


def columns_of(text: str) -> int:
    """Count the columns of a text: two for a wide character."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _characters(fonts, path):
    """Return the code points that a font has."""
    try:
        return fonts.get_font(path).get_charmap().keys()
    except (OSError, RuntimeError):  # a bitmap font, or a broken one
        return set()
