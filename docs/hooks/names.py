"""Public names on the pages of the reference, made when the site is built.

A page may have these lines:

    {{ names alignments }}
    {{ table alignments }}

The first becomes an entry for every public name of a room that no page has by
itself; what is abstract comes last. The second is a table of those of them that
come from a paper.
"""

import ast
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from formulas import typeset

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "keras_attention"
REFERENCE = ROOT / "docs" / "reference"
ENTRY = re.compile(r"^::: keras_attention\.(\S+)$", re.M)
NAMES = re.compile(r"^\{\{ names (\w+) \}\}$", re.M)
TABLE = re.compile(r"^\{\{ table (\w+) \}\}$", re.M)
SCORE = re.compile(r"^Formula:\n\n    (score.+)$", re.M)
PAPER = re.compile(r"\[[^\]]+\]\([^)]+\)")


def on_page_markdown(markdown, **_):
    """Write the tables and the entries that a page asks for."""
    return TABLE.sub(lambda m: table(m[1]), expand(markdown))


def expand(markdown: str) -> str:
    """Write an entry for every name of the rooms that a page asks for.

    Args:
        markdown: The page.
    """
    return NAMES.sub(
        lambda m: "\n\n".join(
            f"::: keras_attention.{name}" for name in names_of(m[1])
        ),
        markdown,
    )


def names_of(room: str) -> list[str]:
    """Return the public names of a room that no page has by itself.

    Args:
        room: A folder of the package, or a file.
    """
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names = [
        alias.name
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        and node.module.partition(".")[0] == room
        for alias in node.names
    ]
    pages = [page.read_text("utf-8") for page in REFERENCE.glob("*.md")]
    listed = {name for page in pages for name in ENTRY.findall(page)}
    left = [name for name in names if name not in listed]
    return sorted(left, key=lambda name: (name.startswith("Abstract"), name))


def table(room: str) -> str:
    """Write a row for each class of a room: its score, or what it does.

    Args:
        room: A folder of the package.
    """
    docstrings = {
        node.name: ast.get_docstring(node) or ""
        for path in sorted((PACKAGE / room).glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    rows = ["| class | score, or what it does | paper |", "| --- | --- | --- |"]
    for name in names_of(room):
        said, _, reference = docstrings.get(name, "").partition("\nReference:")
        if paper := PAPER.search(" ".join(reference.split())):
            score = SCORE.search(said)
            shown = typeset(score[1]) if score else said.partition("\n")[0]
            shown = shown.replace("|", "&#124;")
            rows.append(
                f"| [`{name}`][keras_attention.{name}] | {shown} | {paper[0]} |"
            )
    return "\n".join(rows)
