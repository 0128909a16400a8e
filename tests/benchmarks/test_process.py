"""process.py: a side in a process of its own."""

import numpy as np
import pytest
from draws import decoder_arrays
from gpu import QUICK
from process import Process
from process import compare
from process import one_dnn
from process import stored
from works import DecoderWork

pytest.importorskip("torch", reason="the side in these tests is torch's")

WORK = DecoderWork(steps=4, **QUICK)


@pytest.fixture(scope="module")
def side():
    with (
        stored(decoder_arrays(WORK)) as arrays,
        Process("torch", "decoder_torch", WORK, arrays) as running,
    ):
        yield running


def test_it_runs_when_it_is_told_to(side):
    before = side.cpu_seconds()
    assert 0 < side.run() < 10
    assert side.cpu_seconds() >= before
    assert side.memory() >= 0
    assert 1e7 < side.peak() < 1e11


def test_the_setting_of_one_dnn_is_named(side):
    assert one_dnn({"TF_ENABLE_ONEDNN_OPTS": "0"}).endswith("_OPTS 0")
    assert "processor" in one_dnn({})


def test_it_tells_its_numbers(side):
    found = side.numbers()
    assert found["outputs"].shape == (WORK.batch, WORK.steps, WORK.units)
    assert compare(side, side, 0)["outputs"] == 0


def test_an_error_ends_it(capfd):
    with (
        stored({"inputs": np.zeros(1)}) as arrays,
        pytest.raises(SystemExit, match="torch has stopped"),
        Process("torch", "decoder_torch", WORK, arrays),
    ):
        pass
    assert "KeyError: 'memory'" in capfd.readouterr().err


class Told:
    """A side that says what it was told to."""

    def __init__(self, name, x):
        self.name, self.x = name, np.asarray(x)

    def numbers(self):
        return {"x": self.x}


def test_numbers_are_compared_by_the_largest():
    ours, theirs = Told("a", [100.0, 1.0]), Told("b", [100.0, 1.5])
    assert compare(ours, theirs, 0.005)["x"] == pytest.approx(0.005)
    with pytest.raises(AssertionError, match="a and b differ in x"):
        compare(ours, theirs, {"x": 0.004})
