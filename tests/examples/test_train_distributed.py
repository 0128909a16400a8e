"""train_distributed: what two processes learn is what one learns."""

from pathlib import Path

import keras
import pytest
import train_distributed

ROOT = Path(__file__).parents[2]
MODES = {"tensorflow": "multi_worker", "jax": "two_processes"}
BACKEND = keras.backend.backend()


@pytest.mark.thorough
@pytest.mark.skipif(BACKEND not in MODES, reason="torch has no such mode")
def test_two_processes_learn_what_one_learns(tmp_path, monkeypatch):
    """Each reads its part of the files."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    train_distributed.write_corpus(tmp_path, 2 * train_distributed.BATCH_SIZE)
    found = train_distributed.start(BACKEND, MODES[BACKEND], str(tmp_path), 2)
    one = train_distributed.work("one", str(tmp_path), 2, (0, 1))
    assert found["losses"] == pytest.approx(one["losses"], rel=1e-5)
    assert one["losses"][1] < one["losses"][0]


@pytest.mark.slow
def test_a_broken_process_ends_the_others(tmp_path):
    start = train_distributed.start
    with pytest.raises(
        RuntimeError, match=r"two_processes failed(.|\n)*nothing"
    ):
        start("nothing", "two_processes", str(tmp_path), 1)
