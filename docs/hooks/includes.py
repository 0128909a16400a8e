"""Pages that are files of the repository, and links that leave the site.

A page may have a line that is only a link and a comment. On the site, the text
below that heading, or the whole file without its title, replaces the line:

    [The commands, in the README](../README.md#install) <!-- include -->
"""

import posixpath
import re
from pathlib import Path

from markdown.extensions.toc import slugify
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
INCLUDE = re.compile(
    r"^\[[^\]]*\]\((?:\.\./)+([^)#]+)#?([\w-]*)\) <!-- include -->$", re.M
)
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
    """Insert what a page includes, and adapt links that leave the site."""
    uri = page.file.src_uri
    if uri in WHOLE.values():
        return markdown
    own, *rest = INCLUDE.split(markdown)
    texts = [(f"docs/{uri}", own)]
    for path, slug, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        texts += [(path, section(path, slug)), (f"docs/{uri}", text)]
    return "".join(_relink(x, path, uri, config.repo_url) for path, x in texts)


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


def section(path: str, slug: str) -> str:
    """Return what stands below a heading of a file, or below its title.

    Args:
        path: The file, from the root of the repository.
        slug: The anchor of the heading; empty for the title.

    Raises:
        ValueError: If there is no such heading.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    if not slug:
        return text.partition("\n")[2].strip()
    for found in re.finditer(r"^(#+) (.+)$", text, re.M):
        if slugify(found[2], "-") == slug:
            rest = text[found.end() :]
            end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.M)
            return rest[: end.start() if end else None].strip()
    raise ValueError(f"{path} has no heading with the anchor {slug!r}.")


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
            inside = target.removeprefix("docs/")
        if inside:
            link = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
            return f"{mark}[{label}]({link}{anchor})"
        if repository:
            link = f"{repository.rstrip('/')}/blob/main/{target}"
            return f"{mark}[{label}]({link}{anchor})"
        return label

    return LINK.sub(relinked, text)
