"""Training and translation in a process that cannot import TensorFlow."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import some

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tests/support/without_tensorflow.py"


@pytest.mark.slow
@pytest.mark.parametrize("backend", some(["torch", "jax"], 1))
def test_all_but_export_runs(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    environment = {**os.environ, "KERAS_BACKEND": backend}
    environment["PYTHONPATH"] = str(ROOT)
    environment["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    result = subprocess.run(
        [sys.executable, PROGRAM, tmp_path],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert said[0] == "interrupted"
    assert len(said) == 3
    for line in said[1:]:
        assert 'pip install "keras-rnn-attention[tensorflow]"' in line
