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


def without_defaults(text: str, parameters) -> str:
    """Leave out defaults of arguments that the signature tells.

    Args:
        text: A docstring.
        parameters: The parameters of the signature, from Griffe.
    """
    for parameter in parameters:
        if (default := parameter.default) is not None:
            told = re.escape(str(default)).replace("'", "[\"']")
            text = re.sub(
                rf"(^    {re.escape(parameter.name)}: [^:]*?)"
                rf"\s+Defaults\s+to\s+`{told}`\.$",
                r"\1",
                text,
                count=1,
                flags=re.M,
            )
    return text


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed.

    A method that a subclass redefines is told once, where it is defined first.
    """

    def on_package(self, *, pkg, **_):
        """Rewrite the docstrings of all that a package defines."""
        self._rewrite(pkg)

    def _rewrite(self, obj):
        for member in obj.members.values():
            if not member.is_alias:
                self._rewrite(member)
        if obj.is_class:
            told = {name for base in obj.mro() for name in base.members}
            for name in told & obj.members.keys() - {"__init__"}:
                member = obj.members[name]
                if member.docstring and "Args:" not in member.docstring.value:
                    member.docstring = None
        if obj.docstring:
            parameters = getattr(obj, "parameters", ())
            text = without_defaults(obj.docstring.value, parameters)
            obj.docstring.value = rewrite(text)
