"""portable: a model is left as it was, whoever else exports it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.export.portable import portable
    from keras_attention.export.sublayers import sublayers


def test_two_threads_leave_the_model_as_it_was():
    """The second one begins before the first one ends."""
    model = tiny_translator().model
    layers = [x for x in sublayers(model) if hasattr(x, "use_cudnn")]
    assert layers
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
