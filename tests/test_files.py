"""Files and folders are replaced whole or not at all, by drafts of our own."""

import os
import stat

import pytest

from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder


def names(folder):
    return [path.name for path in folder.iterdir()]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def fill_file(path, text, fails=False):
    with replaced_file(path, ".txt") as draft:
        draft.write_text(text)
        if fails:
            raise KeyError("thrown")


def fill_folder(path, text, fails=False):
    with replaced_folder(path, "mark") as draft:
        (draft / "mark").write_text(text)
        if fails:
            raise KeyError("thrown")


def content(path):
    return (path / "mark" if path.is_dir() else path).read_text()


FILL = [fill_file, fill_folder]
DRAFTS = [
    lambda path: replaced_file(path),
    lambda path: replaced_folder(path, "mark"),
]


@pytest.mark.parametrize("fill", FILL)
def test_it_writes_and_replaces(tmp_path, fill):
    path = tmp_path / "deep" / "thing.txt"
    fill(path, "one")
    fill(str(path), "two")
    assert content(path) == "two"
    assert names(path.parent) == ["thing.txt"]


@pytest.mark.parametrize("fill", FILL)
def test_an_error_leaves_everything_as_it_was(tmp_path, fill):
    path = tmp_path / "thing.txt"
    fill(path, "one")
    with pytest.raises(KeyError, match="thrown"):
        fill(path, "half", fails=True)
    assert content(path) == "one"
    assert names(tmp_path) == ["thing.txt"]


@pytest.mark.parametrize("draft_of", DRAFTS)
def test_nobody_else_can_reach_a_draft(tmp_path, draft_of):
    """Names differ each time, and lie in a folder of the owner alone."""
    seen = set()
    for name in ("one", "two"):
        with draft_of(tmp_path / name) as draft:
            (private,) = tmp_path.glob(".*")
            assert private in draft.parents
            assert mode(private) == stat.S_IRWXU
            seen.add(private.name)
            if not draft.exists():
                draft.write_text("")
    assert len(seen) == 2


@pytest.mark.parametrize("fill", FILL)
def test_links_are_replaced_and_not_followed(tmp_path, fill):
    """Only a link that stands at the path itself, to a thing of its kind."""
    target, link = tmp_path / "target", tmp_path / "thing.txt"
    fill(tmp_path / "first.txt", "precious")
    (tmp_path / "first.txt").rename(target)
    link.symlink_to(target)
    fill(link, "new")
    assert content(target) == "precious"
    assert content(link) == "new"
    assert not link.is_symlink()
    assert sorted(names(tmp_path)) == ["target", "thing.txt"]


@pytest.mark.parametrize("fill", FILL)
def test_others_may_read_what_is_written(tmp_path, fill):
    before = os.umask(0o022)
    try:
        fill(tmp_path / "thing.txt", "one")
    finally:
        os.umask(before)
    path = tmp_path / "thing.txt"
    assert mode(path) == (0o755 if path.is_dir() else 0o644)


# Files.


def test_a_folder_is_no_file(tmp_path):
    path = tmp_path / "folder.txt"
    path.mkdir()
    with pytest.raises(ValueError, match="Name a new file"):
        fill_file(path, "one")
    assert path.is_dir()


def test_the_name_tells_the_format(tmp_path):
    with pytest.raises(ValueError, match=r"ends in `\.txt`"):
        fill_file(tmp_path / "file.text", "one")
    assert names(tmp_path) == []


def test_without_a_suffix_any_name_will_do(tmp_path):
    for name in ("tokenizer.json", "Makefile", "n" * 255):
        with replaced_file(tmp_path / name) as draft:
            draft.write_text(name)
        assert (tmp_path / name).read_text() == name


# Folders.


def test_an_empty_folder_may_be_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    fill_folder(tmp_path / "folder", "one")
    assert content(tmp_path / "folder") == "one"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_others_wrote_stays(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
        (path / "thesis.txt").write_text("precious")
    else:
        path.write_text("precious")
    with pytest.raises(ValueError, match="Name a new folder"):
        fill_folder(path, "one")
    assert path.exists()
    assert kind == "file" or (path / "thesis.txt").exists()
