"""The file of a state: whole or not there, and checked."""

import json

import numpy as np
import pytest

from keras_attention.files import DRAFT
from keras_attention.files import seal
from keras_attention.training import resume_file
from keras_attention.training.resume_file import read_state
from keras_attention.training.resume_file import remove_state
from keras_attention.training.resume_file import write_state

STATE = {"epoch": 3, "weights": [np.arange(5.0)], "text": np.array(["ü"])}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new" / "training.state"


def test_reads_what_was_written(file):
    assert read_state(file) is None
    write_state(file, {"epoch": 1})
    write_state(file, STATE)
    found = read_state(file)
    assert found["epoch"] == 3
    np.testing.assert_array_equal(found["weights"][0], np.arange(5.0))
    assert found["text"] == ["ü"]
    assert [x.name for x in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("part", ["seal", "replaced_file"])
def test_the_last_good_one_survives(file, monkeypatch, part):
    write_state(file, STATE)

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(resume_file, part, fail)
    with pytest.raises(OSError, match="no space"):
        write_state(file, {"epoch": 4})
    assert read_state(file)["epoch"] == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda x: x[:-1],
        lambda x: x[: len(x) // 2],
        lambda _: b"",
        lambda x: x.replace(b"epoch", b"epocH"),
        lambda x: x + x,
    ],
)
def test_damage_is_an_error_that_names_the_file(file, damage):
    write_state(file, STATE)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=r"training\.state"):
        read_state(file)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"about": np.frombuffer(b"{", np.uint8)},
        {"about": np.frombuffer(b'{"array": [7, "int8", []]}', np.uint8)},
        {"about": np.array([object()])},
    ],
)
def test_what_others_sealed_is_an_error(file, arrays):
    file.parent.mkdir()
    with file.open("wb") as content:
        np.savez(content, allow_pickle=True, **arrays)
    seal(file)
    with pytest.raises(ValueError, match=r"training\.state"):
        read_state(file)


def test_other_versions_of_the_file_are_an_error(file, monkeypatch):
    monkeypatch.setattr(resume_file, "VERSION", 0)
    write_state(file, STATE)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 0"):
        read_state(file)


def test_leaves_nothing_behind(file):
    write_state(file, STATE)
    dead = file.parent / f"{DRAFT}killed"
    dead.mkdir(mode=0o700)
    (dead / "lock").touch()
    remove_state(file)
    assert not file.parent.exists()
    remove_state(file)


def test_leaves_what_is_not_its_own(file):
    write_state(file, STATE)
    (file.parent / "notes.json").write_text(json.dumps(1))
    remove_state(file)
    assert [x.name for x in file.parent.iterdir()] == ["notes.json"]
