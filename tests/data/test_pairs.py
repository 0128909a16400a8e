"""pairs: files whose lines belong together."""

import os

import pytest

from keras_attention.data.pairs import read_parallel

pytestmark = pytest.mark.tensorflow  # the package around it needs it


def write(path, content):
    path.write_text(content)
    return path


def test_pairs_come_from_files_or_lists_of_files(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\ntwo\n")
    fr = write(tmp_path / "b.en", "trois\n")
    drei = write(tmp_path / "b.de", "drei\n")
    assert read_parallel(de, str(en)) == (["eins", "zwei"], ["one", "two"])
    sources, targets = read_parallel([de, str(drei)], (en, fr))
    assert sources == ["eins", "zwei", "drei"]
    assert targets == ["one", "two", "trois"]


def test_unequal_files_are_both_named(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\n")
    with pytest.raises(ValueError, match=r"a\.de with 2 and .*a\.en with 1"):
        read_parallel(de, en)
    with pytest.raises(ValueError, match=r"a\.de with 2 and .*a\.en with 1"):
        read_parallel([de, en], [en, de])
    with pytest.raises(ValueError, match="in pairs"):
        read_parallel([de, de], [de])
    with pytest.raises(ValueError, match="in pairs"):
        read_parallel([], [])


def test_every_file_is_opened_before_the_first_is_read(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\n")
    os.mkfifo(tmp_path / "pipe")
    for wrong, says in (
        (tmp_path / "pipe", "pipe: pipes and devices cannot be read"),
        (tmp_path / "gone", "gone: No such file"),
    ):
        with pytest.raises(ValueError, match=says):
            read_parallel([de, wrong], [en, en])
