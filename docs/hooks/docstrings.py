"""Docstrings as the site shows them: sections that Griffe does not know.

`Formula`, `Shapes`, `Reference`, `Example` and `Call arguments` are sections of
this library. They become Markdown, or a section that Griffe does know.
"""

import re
import sys
from pathlib import Path
from textwrap import dedent

import griffe

sys.path.insert(0, str(Path(__file__).parent))

from formulas import typeset

BLOCK = r"\n((?:    .*\n|\n)+)"  # indented, with blank lines
FORMULA = re.compile(rf"^Formula:\n{BLOCK}", re.M)
PLAIN = re.compile(rf"^(Shapes|Reference):{BLOCK}", re.M)
SESSION = re.compile(r"^>>> .*\n(?:\S.*\n)*", re.M)  # up to a blank line


def rewrite(text: str) -> str:
    """Turn the library's own sections into Markdown.

    Args:
        text: A docstring, without indentation.

    Returns:
        The docstring that Griffe reads.
    """
    text = text.rstrip() + "\n"
    text = FORMULA.sub(lambda m: f"{typeset(dedent(m[1]))}\n\n", text)
    text = PLAIN.sub(
        lambda m: f"**{m[1]}**\n\n{dedent(m[2]).strip()}\n\n", text
    )
    text = re.sub(r"^Example:$", "**Example**", text, flags=re.M)
    text = SESSION.sub(r"```pycon\n\g<0>```\n", text)
    return text.replace("\nCall arguments:\n", "\nOther Args: Called with\n")


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_instance(self, *, obj, **_):
        """Rewrite one docstring; Griffe calls it for each object."""
        if obj.docstring:
            obj.docstring.value = rewrite(obj.docstring.value)
