"""The backend that Keras runs on, and what stands in for it."""

import importlib
import inspect
import sys
from functools import partial

import keras
import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention import backend as package
from keras_attention.backend import PlainBackend
from keras_attention.backend import backend

MODULE = f"keras_attention.backend.{keras.backend.backend()}"


@pytest.fixture
def reload(monkeypatch):
    """Import the package `backend` anew, as it is then."""
    yield lambda: importlib.reload(package)
    monkeypatch.undo()
    importlib.reload(package)


def test_another_backend_has_what_keras_does(monkeypatch, reload):
    assert type(backend).__module__ == MODULE
    monkeypatch.setattr(keras.backend, "backend", lambda: "abacus")
    found = reload().backend
    assert type(found) is PlainBackend
    assert found.name == "abacus"
    assert found.is_traced(to_tensor(np.ones(())))
    x, index = np.arange(24.0).reshape(2, 3, 4), np.array([[2, 0], [1, 1]])
    take = found.beam_taker(to_tensor(index.astype("int32")), 3)
    beams = take(to_tensor(x))
    wanted = np.take_along_axis(x, index[..., None], 1)
    np.testing.assert_array_equal(to_numpy(beams), wanted)
    result = found.custom_gradient(lambda x: (2 * x, None))(to_tensor(x))
    np.testing.assert_array_equal(to_numpy(result), 2 * x)


def test_a_broken_file_is_no_missing_file(monkeypatch, reload):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == MODULE:
                raise ModuleNotFoundError("no beads", name="beads")

    monkeypatch.delitem(sys.modules, MODULE)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="no beads"):
        reload()


def test_what_it_overrides_is_documented():
    """In the base class: the same names, with the same arguments."""
    for name, own in inspect.getmembers(type(backend)):
        if not name.startswith("_"):
            base = getattr(PlainBackend, name)
            if inspect.isfunction(own):
                found, wanted = map(inspect.signature, (own, base))
                assert len(found.parameters) == len(wanted.parameters), name


def test_a_graph_is_traced_from_the_code_as_it_is_written():
    seen = []

    def inner():
        seen.append(sys._getframe().f_code.co_filename)
        return keras.ops.ones(())

    run = backend.do_not_convert(inner)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        run = tf.function(lambda: backend.do_not_convert(inner)())
    run()
    assert seen == [__file__]


@pytest.mark.tensorflow
def test_functions_of_the_same_code_are_counted_for_themselves(capfd):
    """TensorFlow warns of a function that is traced at every call."""
    import tensorflow as tf

    for number in range(9):
        run = tf.function(partial(lambda x, number=number: x + number))
        assert run(tf.constant(2)).numpy() == 2 + number
    assert "retracing" not in capfd.readouterr().err
