"""Guides as pages and notebooks, from a notebook that has been run."""

import guides
import pytest
from nbformat.v4 import new_code_cell
from nbformat.v4 import new_notebook
from nbformat.v4 import new_output


def test_a_picture_needs_its_alternative_text():
    picture = new_output("display_data", data={"image/png": "YQ=="})
    cell = new_code_cell("plot()", outputs=[picture])
    with pytest.raises(KeyError, match="alt"):
        guides.as_markdown("first", new_notebook(cells=[cell]))


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
