"""replaced_file: whole or not at all."""

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.files import replaced_file


def fill(path, text):
    with replaced_file(path, ".txt") as draft:
        draft.write_text(text)


def fill_half(path):
    with replaced_file(path, ".txt") as draft:
        draft.write_text("half")
        raise KeyError("thrown")


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    fill(path, "one")
    fill(str(path), "two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_an_error_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "file.txt"
    fill(path, "one")
    with pytest.raises(KeyError, match="thrown"):
        fill_half(path)
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_a_folder_stays(tmp_path):
    path = tmp_path / "folder.txt"
    path.mkdir()
    with pytest.raises(ValueError, match="Name a new file"):
        fill(path, "one")
    assert path.is_dir()


def test_the_name_tells_the_format(tmp_path):
    with pytest.raises(ValueError, match=r"ends in `\.txt`"):
        fill(tmp_path / "file.text", "one")
    assert not list(tmp_path.iterdir())
