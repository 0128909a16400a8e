"""What every export needs of the process and of the model."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.export.portable import check_exportable
    from keras_attention.export.portable import portable
    from keras_attention.export.sublayers import sublayers


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
    here = "keras_attention.export.portable.fast_path"
    monkeypatch.setattr(here, {"NAME": "jax"}.get)
    with pytest.raises(ValueError, match=r"export_it .* backend='jax'"):
        check_exportable("export_it")
