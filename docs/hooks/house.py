"""The package as a picture, drawn from its imports when the site is built.

A page has the line `{{ house }}` where the picture belongs. A part stands one
floor above the highest part that it imports.
"""

import ast
import html
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "keras_attention"


def on_page_markdown(markdown, **_):
    """Draw the house where a page asks for it."""
    return markdown.replace("{{ house }}", draw(read_parts()))


def read_parts() -> dict[str, set[str]]:
    """Return the parts of the package, each with the parts it imports."""
    parts = {}
    for path in sorted(PACKAGE.rglob("[a-z]*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        parts.setdefault(part, set()).update(_imported(path) - {part})
    return {part: found & set(parts) for part, found in parts.items()}


def _imported(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            package, _, inner = node.module.partition(".")
            if package == "keras_attention" and inner:
                found.add(inner.split(".")[0])
    return found


def floors(parts: dict[str, set[str]]) -> list[list[str]]:
    """Sort parts into floors, the lowest first.

    Args:
        parts: The parts, each with those that it imports.
    """
    levels = {}

    def level(part):
        if part not in levels:
            below = [level(other) for other in parts[part]]
            levels[part] = 1 + max(below, default=-1)
        return levels[part]

    for part in parts:
        level(part)
    count = 1 + max(levels.values())
    return [[x for x in levels if levels[x] == n] for n in range(count)]


def draw(parts: dict[str, set[str]]) -> str:
    """Draw the floors, the highest first, as HTML.

    Args:
        parts: The parts, each with those that it imports.
    """
    rows = []
    for floor in reversed(floors(parts)):
        rooms = "".join(_room(part, parts[part]) for part in sorted(floor))
        rows.append(f'<div class="floor">{rooms}</div>')
    return f'<div class="house">{"".join(rows)}</div>'


def _room(part, below):
    folder = PACKAGE / part
    first = folder / "__init__.py" if folder.is_dir() else f"{folder}.py"
    tree = ast.parse(Path(first).read_text(encoding="utf-8"))
    about = (ast.get_docstring(tree) or "").split("\n")[0]
    name = f"{part}/" if folder.is_dir() else f"{part}.py"
    uses = f"<small>uses {', '.join(sorted(below))}</small>" if below else ""
    return (
        f'<div class="room"><strong>{name}</strong>'
        f"<span>{html.escape(about)}</span>{uses}</div>"
    )
