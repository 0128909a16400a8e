"""The SavedModel: what is in it, and that it lives without this package."""

import json
import shutil
import subprocess
import sys

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.export import saved_model

TEXTS = [[], [""], ["42"], ["1234", "", "7", "905"]]

# Tokenizers of `normalization="identity"` need no operation of
# tensorflow_text, so TensorFlow alone is enough to serve.
SERVE = """
import json, sys
sys.modules["keras"] = None
sys.modules["keras_attention"] = None
import tensorflow as tf
v1 = tf.compat.v1
path, texts = sys.argv[1], json.loads(sys.argv[2])
with v1.Session(graph=tf.Graph()) as session:
    meta = v1.saved_model.loader.load(session, ["serve"], path)
    found = []
    for name in ("serving_default", "align"):
        signature = meta.signature_def[name]
        fetch = {k: v.name for k, v in signature.outputs.items()}
        assert list(signature.inputs) == ["text"]
        feed = signature.inputs["text"].name
        for text in texts:
            answer = session.run(fetch, {feed: text})
            rows = answer["translations"].tolist()
            found.append([[t.decode() for t in row] for row in rows])
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "digits" / "1"
    tiny_translator().export(path)
    return path


@pytest.mark.thorough
def test_the_session_loader_serves_it_after_a_move(exported, tmp_path):
    moved = tmp_path / "elsewhere" / "1"
    shutil.copytree(exported, moved)
    command = [sys.executable, "-c", SERVE, str(moved), json.dumps(TEXTS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    wanted = [[[text] for text in tiny_translator()(row)] for row in TEXTS]
    assert found == wanted + wanted


@pytest.mark.thorough
def test_signatures_and_assets(exported):
    loaded = tf.saved_model.load(exported)
    assert set(loaded.signatures) == {"serving_default", "align"}
    outputs = loaded.signatures["serving_default"].structured_outputs
    assert set(outputs) == {"translations", "scores"}
    assert outputs["scores"].dtype == tf.float32


@pytest.mark.thorough
def test_max_length_is_an_argument(tmp_path):
    tiny_translator().export(tmp_path / "short", max_length=2)
    loaded = tf.saved_model.load(tmp_path / "short")
    answer = loaded.signatures["serving_default"](tf.constant(["1234"]))
    assert answer["translations"].numpy().tolist() == [[b"yx"]]


@pytest.mark.slow
def test_what_reads_back_wrong_is_not_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "_equal", lambda *_: False)
    with pytest.raises(RuntimeError, match="Nothing was written"):
        tiny_translator().export(tmp_path / "digits")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_folder_is_not_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="Will not replace"):
        tiny_translator().export(tmp_path)
