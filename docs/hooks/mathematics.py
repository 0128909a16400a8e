"""Mathematics in pages: LaTeX becomes MathML when the site is built.

So a reader needs neither scripts nor fonts of other servers.
"""

import html
import re

from latex2mathml.converter import convert

FOUND = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S
)


def on_page_content(content, **_):
    """Replace what the extension `arithmatex` has found in a page."""
    return FOUND.sub(_as_mathml, content)


def _as_mathml(found: re.Match) -> str:
    display = "block" if found[2] == "[" else "inline"
    mathml = convert(html.unescape(found[3]).strip(), display=display)
    return f'<{found[1]} class="math">{mathml}</{found[1]}>'
