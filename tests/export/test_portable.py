"""What every export needs of the process and of the model."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.export.portable import check_exportable
    from keras_attention.export.portable import portable
    from keras_attention.export.portable import text_archive
    from keras_attention.export.sublayers import sublayers
    from keras_attention.text import CharacterTokenizer


def test_cudnn_and_xla_are_off_while_tracing_and_back_afterwards():
    model = tiny_translator().model
    layers = [x for x in sublayers(model) if hasattr(x, "use_cudnn")]
    assert layers
    model.jit_compile = True
    with portable(model):
        assert not any(layer.use_cudnn for layer in layers)
        assert not model.jit_compile
    assert all(layer.use_cudnn == "auto" for layer in layers)
    assert model.jit_compile
    model.jit_compile = False


def test_two_threads_leave_the_model_as_it_was():
    """The second one begins before the first one ends."""
    model = tiny_translator().model
    layers = [x for x in sublayers(model) if hasattr(x, "use_cudnn")]
    inside, leave = threading.Event(), threading.Event()

    def first():
        with portable(model):
            inside.set()
            leave.wait(1)

    def second():
        inside.wait(10)
        threading.Timer(0.1, leave.set).start()
        with portable(model):
            time.sleep(0.2)  # the first one is gone by then

    model.jit_compile = True
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert model.jit_compile
    assert all(layer.use_cudnn == "auto" for layer in layers)
    model.jit_compile = False


def test_another_backend_is_told_what_to_do(monkeypatch):
    check_exportable("export_it")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"export_it .* backend='jax'"):
        check_exportable("export_it")


def test_an_archive_holds_the_tables_of_both_tokenizers(tmp_path):
    source, target = CharacterTokenizer("ab"), CharacterTokenizer("ba")
    text = tf.TensorSpec((None,), tf.string, name="text")

    def tokenize(text):
        return {"a": source.tokenize(text), "b": target.tokenize(text)}

    archive = text_archive(source, target)
    archive.add_endpoint("tokenize", tokenize, [text])
    archive.write_out(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path).signatures["tokenize"]
    found = loaded(text=tf.constant(["ab"]))
    assert found["a"].numpy().tolist() == [[2, 4, 5, 3]]
    assert found["b"].numpy().tolist() == [[2, 5, 4, 3]]
