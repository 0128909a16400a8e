"""Pages made of what stands elsewhere: README, changelog, examples.

A page may have these lines, which are replaced when the site is built:

    {{ include README.md#In 20 lines }}
    {{ example karate_club: what one sees in the picture }}

The first is the text below a heading, or a whole file without its title. The
second is the question of an example, its picture with this alternative text (or
`none`), what its docstring says, and a link to its source.
"""

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
PAGES = {  # files that are pages of their own
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "hood/benchmarks.md",
    "examples/serve/README.md": "guides/tensorflow_serving.md",
}
WHOLE = {x: y for x, y in PAGES.items() if not y.startswith("hood/")}
GUIDE = re.compile(r"^(guides/\w+)\.py$")  # a script that becomes a page
INCLUDE = re.compile(r"^\{\{ include ([^#}]+?)(?:#([^}]+?))? \}\}$", re.M)
EXAMPLE = re.compile(r"^\{\{ example (\w+): ([^}]+?) \}\}$", re.M)
CODE = re.compile(r'<div class="(?:[\w-]+ )*highlight"')
LINK = re.compile(
    r"(!?)\[((?:[^\]]|\]\()*?)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)"
)


def on_files(files, config):
    """Add the pages that are files of the repository."""
    for path, uri in WHOLE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        text = _relink(text, path, uri, config.repo_url)
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown, page, config, **_):
    """Put in what a page includes, and mend links that leave the site."""
    uri = page.file.src_uri
    if uri in WHOLE.values():
        return markdown
    markdown = _relink(markdown, f"docs/{uri}", uri, config.repo_url)

    def entry(found):
        source = f"[examples/{found[1]}.py](examples/{found[1]}.py)"
        source = _relink(source, "README.md", uri, config.repo_url)
        return f"{_example(found)}\n\nSource: {source}"

    markdown = EXAMPLE.sub(entry, markdown)

    def included(found):
        text = section(found[1], found[2])
        return _relink(text, found[1], uri, config.repo_url)

    return INCLUDE.sub(included, markdown)


def on_page_content(html, config, **_):
    """Load pictures when they are seen; search words, not code; link it."""
    html = html.replace("<img ", '<img loading="lazy" ')
    details = '<details class="mkdocstrings-source"'
    html = html.replace(details, f"{details} data-search-exclude")
    html = CODE.sub(r"\g<0> data-search-exclude", html)
    if config.repo_url:
        link = rf'<a href="{config.repo_url}/blob/main/\1">\1</a>'
        html = re.sub(r"<code>(keras_attention/[\w/]+\.py)</code>", link, html)
    return html


def section(path: str, heading: str | None) -> str:
    """Return what stands below a heading of a file, or below its title.

    Args:
        path: The file, from the root of the repository.
        heading: The text of the heading, or `None` for the title.

    Raises:
        ValueError: If there is no such heading.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    if heading is None:
        return text.partition("\n")[2].strip()
    level = re.search(rf"^(#+) {re.escape(heading)}$", text, re.M)
    if level is None:
        raise ValueError(f"{path} has no heading {heading!r}.")
    rest = text[level.end() :]
    end = re.search(rf"^#{{1,{len(level[1])}}} ", rest, re.M)
    return rest[: end.start() if end else None].strip()


def _example(found):
    """Write the entry of an example in the gallery."""
    name, seen = found[1], found[2]
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(source))
    question, _, more = said.partition("\n")
    parts = [f"## {question}"]
    if seen != "none":
        parts.append(f"![{seen}]({name}.png)")
    return "\n\n".join([*parts, more.strip()])


def _relink(text: str, path: str, uri: str, repository: str | None) -> str:
    """Let links lead to pages, else to the repository, else nowhere."""
    folder = posixpath.dirname(path)

    def relinked(found):
        mark, label, target, anchor = found.groups(default="")
        target = posixpath.normpath(posixpath.join(folder, target))
        if not (ROOT / target).exists():
            return found[0]
        inside = PAGES.get(target)
        if target.startswith("docs/"):
            inside = GUIDE.sub(r"\1.md", target.removeprefix("docs/"))
        if inside:
            link = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
            return f"{mark}[{label}]({link}{anchor})"
        if repository:
            link = f"{repository.rstrip('/')}/blob/main/{target}"
            return f"{mark}[{label}]({link}{anchor})"
        return label

    return LINK.sub(relinked, text)
