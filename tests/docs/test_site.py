"""The site: it builds in seconds, and leaves out nothing."""

import ast
import json
import os
import re
import subprocess
import sys
import zlib
from urllib.parse import unquote

import names
import pytest
import run
from source import ROOT

import keras_attention as ka

pytestmark = pytest.mark.tensorflow

DOCS = ROOT / "docs"
GUIDES = sorted(
    path.stem for path in run.FOLDER.glob("*.md") if path.stem != "index"
)
EXAMPLES = ROOT / "examples"


# What pages must have, whoever adds a name or an example.


def test_the_reference_has_what_pages_import():
    """Names below the top level too, where a page tells to use them."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    found = re.compile(r"^from keras_attention\.(\S+) import (.+)$", re.M)
    asked = {
        f"{module}.{name}"
        for page in pages
        for module, names in found.findall(page.read_text())
        for name in names.split(", ")
    }
    assert "ops.hoist" in asked
    listed = {
        row[1]
        for page in names.REFERENCE.glob("*.md")
        for row in names.ROW.finditer(page.read_text())
    }
    assert asked <= listed


def test_the_gallery_has_every_example():
    """Its question, its source, and all pictures."""
    page = (DOCS / "gallery.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        said = ast.get_docstring(ast.parse(path.read_text()))
        assert f"## {said.splitlines()[0]}\n" in page, path
        assert f"(../examples/{path.name})" in page
    shown = set(re.findall(r"\((\w+)\.png\)", page))
    assert shown == {path.stem for path in DOCS.glob("*.png")}


def test_the_navigation_has_every_guide():
    text = (ROOT / "mkdocs.yml").read_text()
    shown = (DOCS / "guides" / "index.md").read_text()
    for name in GUIDES:
        assert f"guides/{name}.md\n" in text
        assert f"({name}.md)" in shown


def test_pages_name_files_that_are_there():
    inside = [ROOT, ROOT / "keras_attention"]
    named = {
        path
        for page in (DOCS / "hood").glob("*.md")
        for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text())
    }
    assert "ops/replay.py" in named
    for path in named:
        assert any((folder / path).exists() for folder in inside), path


# The site as it is built: one test, since it is built once.


@pytest.mark.slow
def test_the_site_is_whole(tmp_path):
    site = build(tmp_path)
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    check_inventory(site)
    check_search(site)
    check_entry(site)
    check_guides(site)
    check_links(site, pages)
    check_pictures(pages)
    check_nothing_comes_from_other_servers(pages)


def build(folder):
    """Build the site, which runs nothing."""
    unset = {"SITE_URL": "", "REPOSITORY_URL": ""}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT,
        env={**os.environ, **unset, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def check_inventory(site):
    """What other sites link to by `objects.inv` has every name."""
    content = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(content.split(b"\n", 4)[4]).decode().splitlines()
    names = {line.split()[0] for line in lines}
    wanted = {f"keras_attention.{name}" for name in ka.__all__}
    assert wanted - names == set()


def check_search(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    entries = {entry["location"].rpartition("#")[2] for entry in index["docs"]}
    wanted = {f"keras_attention.{name}" for name in ka.__all__}
    assert wanted - entries == set()
    assert "self.score_vector = self.add_kernel" not in str(index)
    assert "import BahdanauAttention" not in str(index)  # cells of guides
    titles = {entry["title"] for entry in index["docs"]}
    assert {"Install", "Padding and masking"} <= titles


def check_entry(site):
    """A class has formula, shapes, errors, example, paper and source."""
    text = (site / "reference" / "attention" / "index.html").read_text()
    entry = text.partition('id="keras_attention.BahdanauAttention"')[2]
    entry = entry.partition('id="keras_attention.LuongGeneral"')[0]
    for part in (
        '<div class="formula"',
        "<strong>Shapes</strong>",
        "If <code>units</code> is not a positive integer",
        "<strong>Example</strong>",
        "arxiv.org/abs/1409.0473",
        "score_vector",  # the source
    ):
        assert part in entry, part
    assert "Called with" in text


def check_guides(site):
    for name in GUIDES:
        notebook = json.loads((site / "guides" / f"{name}.ipynb").read_text())
        code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        assert "pip install" in "".join(code[0]["source"])
        assert len(code) > 1
        page = (site / "guides" / name / "index.html").read_text()
        assert f'href="../{name}.ipynb"' in page
        assert "/tmp/" not in page  # where it was built


def check_links(site, pages):
    ids = {
        path: set(re.findall(r'\bid="?([^"\s>]+)', text))
        for path, text in pages.items()
    }
    broken = []
    for path, text in pages.items():
        if path.name == "404.html":  # its links begin at the root
            continue
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            there = not anchor or target not in ids or anchor in ids[target]
            if not (target.exists() and there):
                broken.append((str(path.relative_to(site)), link))
    assert broken == []


def tags(text, name):
    return re.findall(rf"<{name}\b[^>]*>", text)


def check_pictures(pages):
    """Each picture has a text for who does not see it."""
    for path, text in pages.items():
        for tag in tags(text, "img"):
            said = re.search(r'alt="([^"]*)"', tag)
            assert said, (path, tag)
            assert len(said[1]) > 20, (path, tag)


def check_nothing_comes_from_other_servers(pages):
    for path, text in pages.items():
        for tag in [
            t for x in ("script", "link", "img") for t in tags(text, x)
        ]:
            if 'rel="canonical"' not in tag:
                assert not re.search(r'(?:src|href)="?(?:https?:)?//', tag), (
                    path
                )
