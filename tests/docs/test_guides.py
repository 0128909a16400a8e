"""Guides as pages and notebooks, from a notebook that has been run."""

import base64
import json

import guides
import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbformat.v4 import new_markdown_cell
from nbformat.v4 import new_notebook
from nbformat.v4 import new_output

PNG = base64.b64encode(b"a picture").decode()


@pytest.fixture
def notebook():
    data = {"image/png": PNG, "text/plain": "<Figure>"}
    outputs = [
        new_output("stream", name="stderr", text="a log"),
        new_output("stream", name="stdout", text="1/9\r9/9\nsaid\n"),
        new_output("execute_result", data={"text/plain": "'found'"}),
        new_output("display_data", data=data),
    ]
    code = new_code_cell("plot()", outputs=outputs, metadata={"alt": "A bar"})
    return new_notebook(cells=[new_markdown_cell("# Title\n\nText."), code])


def test_a_page_has_text_code_outputs_and_pictures(notebook):
    page, pictures = guides.as_markdown("first", notebook)
    assert page.startswith("# Title\n\n[Notebook](first.ipynb){ download }")
    assert "```python\nplot()\n```" in page
    assert "```{ .text .output }\n9/9\nsaid\n```" in page
    assert "'found'" in page
    assert "![A bar](first-0.png)" in page
    assert "a log" not in page
    assert "<Figure>" not in page
    assert pictures == {"first-0.png": b"a picture"}


def test_a_picture_needs_its_alternative_text(notebook):
    del notebook.cells[1].metadata["alt"]
    with pytest.raises(KeyError, match="alt"):
        guides.as_markdown("first", notebook)


@pytest.mark.parametrize(
    ("repository", "wanted"),
    [
        (None, '%pip install -q -e ".['),
        ("https://example.org/x", "@ git+https://example.org/x"),
    ],
)
def test_a_notebook_begins_with_its_installation(notebook, repository, wanted):
    text = guides.as_notebook(notebook, repository)
    found = nbformat.reads(text, 4)
    nbformat.validate(found)
    assert wanted in found.cells[0].source
    assert found.cells[0].source.endswith(guides.SEED)
    assert f"\n{guides.SEED}\n" in guides.BEGIN
    assert found.cells[1:] == notebook.cells
    assert text == guides.as_notebook(notebook, repository)
    assert json.loads(text)["nbformat"] == 4


def test_guides_run_once_and_again_when_they_change(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(guides, "ROOT", tmp_path)
    monkeypatch.setattr(guides, "FOLDER", tmp_path)
    monkeypatch.setattr(guides, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(guides, "_run", lambda fresh: ran.append([*fresh]))
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("# %%\n1 + 1\n")
    assert [*guides.run_guides()] == ["a", "b"]
    guides.run_guides()
    (tmp_path / "b.py").write_text("# %%\n1 + 2\n")
    assert guides.run_guides()["b"].cells[0].source == "1 + 2"
    monkeypatch.setattr(guides, "BESIDE", {"a": ["beside/*.py"]})
    (tmp_path / "beside").mkdir()
    for file in ("beside/used.py", "beside/used.txt", "other.txt"):
        (tmp_path / file).write_text("1")
        guides.run_guides()
    assert sorted(ran[:2]) == [["a"], ["b"]]  # beside one another
    assert ran[2:] == [["b"], ["a"]]
    assert len([*(tmp_path / "cache").iterdir()]) == 2
