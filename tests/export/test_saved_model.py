"""The SavedModel: what is in it, and what it does not replace."""

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.export import saved_model


@pytest.mark.thorough
def test_signatures(tmp_path):
    tiny_translator().export(tmp_path / "digits" / "1")
    loaded = tf.saved_model.load(tmp_path / "digits" / "1")
    assert set(loaded.signatures) == {"serving_default", "align"}
    outputs = loaded.signatures["serving_default"].structured_outputs
    assert set(outputs) == {"translations", "scores"}
    assert outputs["scores"].dtype == tf.float32


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
