"""Guides: each runs as it stands, and prints what its page shows."""

import os
import sys

import matplotlib.pyplot as plt
import nbformat
import notebooks
import pytest
import run

pytestmark = pytest.mark.tensorflow

PAGES = {x.stem: x for x in run.FOLDER.glob("*.md") if x.stem != "index"}
OTHERS = {"coming_from_tfa"}  # test_coming_from.py runs it
PAGE = """# Title

```python
import matplotlib.pyplot as plt

print("loss 0.{0}")
plt.plot([{0}, 2])
```

```text
loss 0.1
```
"""
PICTURE = "\n![A line](images/page-1.png)\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PAGES) - OTHERS))
def test_it_runs_and_prints_what_the_page_shows(name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert run.run_alone(PAGES[name], check=True) == ""


@pytest.mark.parametrize("name", PAGES)
def test_its_pictures_are_there(name):
    text = PAGES[name].read_text(encoding="utf-8")
    shown = {x for x in text.split("](") if x.startswith("images/")}
    shown = {x.partition(")")[0] for x in shown}
    files = run.FOLDER.glob(f"images/{name}-*.png")
    assert shown == {f"images/{x.name}" for x in files}


def written(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_a_run_writes_output_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    _ = plt.figure(), plt.figure()  # of other tests
    page = written(tmp_path, PAGE.format(3) + PICTURE)
    text, pictures, scope = run.run_guide(page)
    assert "```text\nloss 0.3\n```\n\n![A line](images/page-1.png)" in text
    assert pictures["images/page-1.png"].startswith(b"\x89PNG")
    assert "plt" in scope
    assert run.differences(page.read_text(), text) == []


def test_a_picture_needs_its_alternative_text(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    page = written(tmp_path, PAGE.format(3))
    with pytest.raises(ValueError, match="draws 1 pictures, and 0 lines"):
        run.run_guide(page)


def test_a_check_compares_words_and_the_number_of_lines():
    page = PAGE.format(1)
    assert run.differences(page, page.replace("loss 0.1", "loss -2e-05")) == []
    for other in ("less 0.1", "loss 0.1\nend"):
        assert run.differences(page, page.replace("loss 0.1", other))


def test_a_notebook_installs_what_it_needs_and_has_no_output():
    shown = "```sh\nls\n```"
    page = f"{PAGE.format(1)}\nIn a shell:\n\n{shown}\n"
    text = notebooks.as_notebook(page, "https://example.org/a/b")
    first, title, code, last = nbformat.reads(text, 4).cells
    assert first.source.startswith("%pip install -q")
    assert "git+https://example.org/a/b" in first.source
    assert title.source == "# Title"
    assert code.source.endswith("plt.plot([1, 2])")
    assert code.outputs == []
    assert last.source == f"In a shell:\n\n{shown}"
