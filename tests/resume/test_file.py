"""The file of a state: what is read is what was written, or an error."""

import json
import math
import os
import resource
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import resumable_fit
from keras_attention.files import DRAFT
from keras_attention.files import seal
from keras_attention.resume import file as state_file
from keras_attention.resume.file import pack
from keras_attention.resume.file import read_state
from keras_attention.resume.file import remove_state
from keras_attention.resume.file import write_state

VALUES = {
    "numbers": [1, 0.1, True, None, 2**70, -0.0, math.inf],
    "collections": {"a": (1, [2, {3}]), 4: {}, (5, "b"): []},
    "text": ["", "ü\n\0", Path("a/b")],
    "operations": {"best": ops.less, "worst": ops.greater},
}
STATE = {"epoch": 3, "weights": [np.arange(5.0)], "text": np.array(["ü"])}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new" / "training.state"


def test_values_come_back(file):
    assert read_state(file) is None
    write_state(file, {"epoch": 1})
    write_state(file, VALUES)
    assert repr(read_state(file)) == repr(VALUES)  # and their types
    assert [x.name for x in file.parent.iterdir()] == [file.name]


def test_arrays_and_tensors_come_back(file):
    arrays = [
        np.arange(6.0, dtype="float32").reshape(2, 3).T,
        np.array(["ü", "abc"]),
        np.array([b"x", b"yz"]),
        np.array(["2026-11-22"], "datetime64[D]"),
        np.zeros((0, 3), "int64"),
        np.float64(0.1),
        np.bool_(True),
        np.str_("abc"),
    ]
    dtypes = ("float32", "bfloat16", "float16", "int8")
    tensors = [ops.cast([[1.5, -2.0]], dtype) for dtype in dtypes]
    write_state(file, {"arrays": arrays, "tensors": tensors})
    again = read_state(file)
    wanted = [*arrays, *map(ops.convert_to_numpy, tensors)]
    for x, y in zip(again["arrays"] + again["tensors"], wanted, strict=True):
        assert type(x) is type(y)
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.tobytes() == np.ascontiguousarray(y).tobytes()
    again["arrays"][0] += 1  # they can be changed


@pytest.mark.parametrize(
    "value",
    [object(), len, lambda: 0, keras.layers.Dense, np.array([object()]), 1j],
)
def test_nothing_else_is_plain(value):
    with pytest.raises(TypeError, match="not a plain value"):
        pack([1, {"a": value}], [])


def test_a_full_disk_is_an_error_that_names_the_file(file):
    write_state(file, STATE)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    try:
        with pytest.raises(OSError, match=r"training\.state"):
            write_state(file, {"weights": np.zeros(2**18)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read_state(file)["epoch"] == 3


@pytest.mark.parametrize(
    "content",
    [
        [],
        [b"{"],
        [b"[" * 9990],
        [b'{"version": 3, "state": {"array": [9, "<f8"]}}'],
        [b'{"version": 3, "state": {"array": [1, "<f8"]}}', b"123"],
    ],
)
def test_what_others_sealed_is_an_error(file, content):
    file.parent.mkdir()
    with file.open("wb") as opened:
        np.savez(opened, *(np.frombuffer(x, "u1") for x in content))
    seal(file)
    with pytest.raises(ValueError, match=r"training\.state"):
        read_state(file)


def test_other_versions_of_the_file_are_an_error(file, monkeypatch):
    monkeypatch.setattr(state_file, "VERSION", 0)
    write_state(file, STATE)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 0"):
        read_state(file)


def fit(folder):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=keras.backend.backend() != "jax")
    x = np.ones((4, 2))
    return resumable_fit(model, folder, x, x, batch_size=2, verbose=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda file: file.mkdir(),
        lambda file: file.symlink_to("/dev/zero"),
        lambda file: file.symlink_to("nowhere"),
        os.mkfifo,
        lambda file: file.write_bytes(b"something else"),
        lambda file: write_state(file, STATE),
    ],
)
def test_what_is_no_state_is_refused_and_stays(file, make):
    file.parent.mkdir()
    make(file)
    with pytest.raises(ValueError, match=r"training\.state.*remove its folder"):
        fit(file.parent)
    assert file.is_symlink() or file.exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"epoch": -5}, "epoch=-5"),
        ({"epoch": 2.5}, r"epoch=2\.5"),
        ({"random": {}}, "KeyError: 'python'"),
        ({"epoch": 10**9, "data_epoch": 10**9}, "epochs=1 are fewer"),
        ({"batch": -1}, "batch=-1"),
        ({"epoch": "2"}, "epoch='2'"),
        ({"more": 1}, "argument 'more'"),
    ],
)
def test_a_moment_that_cannot_be_is_refused(file, monkeypatch, change, reason):
    states = []
    monkeypatch.setattr(
        "keras_attention.resume.callbacks.write_state",
        lambda _, state: states.append(state),
    )
    fit(file.parent / "other")
    assert [x["begun"] for x in states] == [False, True]
    write_state(file, {**states[0], "begun": True, **change})
    with pytest.raises(ValueError, match=reason):
        fit(file.parent)
    assert file.exists()


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
