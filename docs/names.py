"""Tables of public names on the pages of the reference.

    python docs/names.py    # writes the tables

A page has a comment that says what its table lists, here all public names of
two folders and one name that users import from its module:

    <!-- names: decoder models models.Begun -->

The table follows, up to the next blank line: each name with a link to its
source and the first line of its docstring. On the site the link leads to an
entry below the table, which mkdocstrings makes of the whole docstring.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "hooks"))

from formulas import typeset

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_attention"
REFERENCE = ROOT / "docs" / "reference"
TABLE = re.compile(r"^<!-- names: ([\w. ]+) -->\n\n?(?:\|.*\n)*", re.M)
ROW = re.compile(
    r"^\| \[`([\w.]+)`\]\(\.\./\.\./keras_attention/[\w/]+\.py\) \| (.*)$", re.M
)
SCORE = re.compile(r"^Formula:\n\n    (score.+)$", re.M)
SHOWN_SCORE = re.compile(r"`(score(?:\\\||[^`|])+)`")
PAPER = re.compile(r"\[[^\]]+\]\([^)]+\)")


def on_page_markdown(markdown, page, **_):
    """Add the entries of the names that a page lists."""
    if not page.file.src_uri.startswith("reference/"):
        return markdown
    return TABLE.sub(lambda m: with_entries(m[0]), markdown)


def with_entries(table: str) -> str:
    """Return a table for the site: links, formulas, and entries below it.

    Args:
        table: The table of a page, with its comment.
    """
    entries = [f"::: keras_attention.{m[1]}\n" for m in ROW.finditer(table)]
    table = ROW.sub(r"| [`\1`][keras_attention.\1] | \2", table)
    table = SHOWN_SCORE.sub(_formula, table)
    return "\n".join([table, *entries])


def _formula(found):
    shown = typeset(found[1].replace("\\|", "|"))
    return shown.replace("|", "&#124;")


def write_tables(markdown: str) -> str:
    """Return a page of the reference with new tables.

    Args:
        markdown: The page.
    """
    return TABLE.sub(
        lambda m: f"<!-- names: {m[1]} -->\n\n{table(m[1].split())}", markdown
    )


def table(listed: list[str]) -> str:
    """Write a row for each name.

    Args:
        listed: Folders and files of the package, and names with their modules.
    """
    single = {x for page in REFERENCE.glob("*.md") for x in _listed(page)}
    names = []
    for item in listed:
        public = [x for x, room in _public().items() if room == item]
        names += sorted(
            set(public or [item]) - (single - {item}),
            key=lambda name: ("Abstract" in name, name),
        )
    rows = [(name, *_described(name)) for name in names]
    papers = any(paper for *_, paper in rows)
    head = ["name", "what it does", *(["paper"] if papers else [])]
    lines = [head, ["---"] * len(head)]
    for name, path, about, paper in rows:
        link = f"[`{name}`](../../{path})"
        lines.append([link, about, *([paper] if papers else [])])
    return "".join(f"| {' | '.join(x)} |\n" for x in lines)


def _listed(page):
    for found in TABLE.finditer(page.read_text(encoding="utf-8")):
        yield from found[1].split()


@cache
def _public() -> dict[str, str]:
    """Return the public names, each with its folder or file."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    return {
        alias.name: node.module.partition(".")[0]
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _described(name: str) -> tuple[str, str, str]:
    """Return the file of a name, what it does, and its paper."""
    module, _, last = name.rpartition(".")
    inside = PACKAGE / (module or _public()[name]).replace(".", "/")
    files = [inside.with_suffix(".py"), *sorted(inside.rglob("*.py"))]
    for path in filter(Path.exists, files):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [tree] if path.stem == last else tree.body
        for node in nodes:
            if node is tree or getattr(node, "name", None) == last:
                return str(path.relative_to(ROOT)), *_about(node)
    raise ValueError(f"{name} is not in keras_attention.")


def _about(node):
    said = ast.get_docstring(node) or ""
    said, _, reference = said.partition("\nReference:")
    about = said.partition("\n")[0].replace("|", "\\|")
    if score := SCORE.search(said):
        about += f" `{score[1]}`".replace("|", "\\|")
    paper = PAPER.search(" ".join(reference.split()).replace("( ", "("))
    return about, paper[0] if paper else ""


if __name__ == "__main__":
    for page in sorted(REFERENCE.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        page.write_text(write_tables(before), encoding="utf-8")
