"""What `import keras_attention` loads and costs, and what comes late."""

import ast
import configparser
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import mechanisms
import pytest
from tiers import some

import keras_attention
from keras_attention import BahdanauAttention
from keras_attention import SequenceCrossentropy
from keras_attention import TokenAccuracy

ROOT = Path(__file__).parents[1]
BACKENDS = ["tensorflow", "jax", "torch"]
HEAVY = {*BACKENDS, "tensorflow_text", "matplotlib"}
MEASURE = f"""
import gc, json, sys, time
start = time.process_time()
import keras
theirs = time.process_time() - start
gc.freeze()  # or it is read through once more: 0.3 s of torch
def heavy():
    return sorted(set(sys.modules) & set({sorted(HEAVY)}))
before, start = heavy(), time.process_time()
import keras_attention
ours = time.process_time() - start
keras.config.set_floatx("float64")
chosen = keras_attention.DotAttention().dtype
print(json.dumps([before, heavy(), ours / theirs, chosen]))
"""
LOAD = """
import keras
import keras_attention
model = keras.saving.load_model("{}")
print(type(model).__name__, type(model.loss).__name__)
"""


def fresh(code, backend):
    """Run code in a process of its own; its output."""
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    environment = {**os.environ, "KERAS_BACKEND": backend}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("backend", some(["tensorflow", "jax", "torch"], 2))
def test_loads_what_keras_loads_and_fast(backend, tmp_path):
    """And then a file of Keras, with nothing of this package asked for."""
    load = ""
    if backend == keras.backend.backend():
        model = mechanisms.make_model(BahdanauAttention(3), "luong")
        model.compile("sgd", SequenceCrossentropy(), metrics=[TokenAccuracy()])
        model.save(tmp_path / "model.keras")
        load = LOAD.format(tmp_path / "model.keras")
    measured, *loaded = fresh(MEASURE + load, backend).splitlines()
    before, after, share, chosen = json.loads(measured)
    assert chosen == "float64"  # what is set after the import counts
    assert after == before
    if backend != "tensorflow":
        assert "tensorflow" not in after
    assert share < 0.2  # of what Keras takes: 0.04 to 0.1
    assert loaded == ["Seq2Seq SequenceCrossentropy"] * bool(load)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", keras_attention.NAMES)
def test_every_name_is_there(name):
    assert getattr(keras_attention, name).__name__ == name


def test_the_version_stands_in_one_place():
    """And is read without an import of the package."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    wanted = "attr: keras_attention.version.__version__"
    assert config["metadata"]["version"] == wanted
    path = ROOT / "keras_attention" / "version.py"
    _, assignment = ast.parse(path.read_text()).body
    version = ast.literal_eval(assignment.value)
    assert version == keras_attention.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert version in (ROOT / "CHANGELOG.md").read_text()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'AdditiveAtt"):
        keras_attention.AdditiveAttention  # noqa: B018


def test_what_is_listed_is_public():
    public = [*keras_attention.__all__, "__version__"]
    assert dir(keras_attention) == sorted(public)
