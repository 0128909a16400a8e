"""replaced_folder: whole or not at all."""

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.files import replaced_folder


def fill(path, text):
    with replaced_folder(path, "mark") as folder:
        (folder / "mark").write_text(text)


def fill_half(path):
    with replaced_folder(path, "mark") as folder:
        (folder / "mark").write_text("half")
        folder.mkdir()  # which is there already


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "deep" / "folder"
    fill(path, "one")
    fill(str(path), "two")
    assert (path / "mark").read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["folder"]


def test_an_error_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "folder"
    fill(path, "one")
    with pytest.raises(FileExistsError):
        fill_half(path)
    assert (path / "mark").read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_an_empty_folder_may_be_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    fill(tmp_path / "folder", "one")
    assert (tmp_path / "folder" / "mark").read_text() == "one"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_others_wrote_stays(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
        (path / "thesis.txt").write_text("precious")
    else:
        path.write_text("precious")
    with pytest.raises(ValueError, match="Name a new folder"):
        fill(path, "one")
    assert path.exists()
    assert kind == "file" or (path / "thesis.txt").exists()
