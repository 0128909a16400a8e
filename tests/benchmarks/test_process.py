"""process.py: a side in a process of its own."""

import numpy as np
import pytest
from draws import decoder_arrays
from gpu import QUICK
from process import Process
from process import compare
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
