"""Fast paths: found by name where there are any."""

import importlib
import sys

import keras
import pytest

from keras_attention import backend
from keras_attention.ops.fast_paths import as_written
from keras_attention.ops.fast_paths import counted_alone
from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.fast_paths import is_traced

MODULE = f"keras_attention.backend.{keras.backend.backend()}"


def test_what_the_backend_has_is_found():
    assert fast_path("compiled").__module__ == MODULE
    assert fast_path("faster_than_light") is None
    assert fast_path("faster_than_light", 3) == 3


@pytest.fixture
def reload(monkeypatch):
    """Import the package `backend` anew, as it is then."""
    yield lambda: importlib.reload(backend)
    monkeypatch.undo()
    importlib.reload(backend)


def test_without_the_backend_s_file_there_is_none(monkeypatch, reload):
    monkeypatch.setattr(keras.backend, "backend", lambda: "abacus")
    reload()
    assert fast_path("compiled", "plain") == "plain"
    assert is_traced(keras.ops.ones(()))


def test_an_empty_package_has_no_fast_path(monkeypatch):
    monkeypatch.delattr(backend, "current")
    assert fast_path("compiled", "plain") == "plain"


def test_a_broken_file_is_no_missing_file(monkeypatch, reload):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == MODULE:
                raise ModuleNotFoundError("no beads", name="beads")

    monkeypatch.delitem(sys.modules, MODULE)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="no beads"):
        reload()


def test_a_graph_is_traced_from_the_code_as_it_is_written():
    seen = []

    def inner():
        seen.append(sys._getframe().f_code.co_filename)
        return keras.ops.ones(())

    run = as_written(inner)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        run = tf.function(lambda: as_written(inner)())
    run()
    assert seen == [__file__]


@pytest.mark.tensorflow
def test_functions_of_the_same_code_are_counted_for_themselves(capfd):
    """TensorFlow warns of a function that is traced at every call."""
    import tensorflow as tf

    for number in range(9):
        run = tf.function(counted_alone(lambda x, number=number: x + number))
        assert run(tf.constant(2)).numpy() == 2 + number
    assert "retracing" not in capfd.readouterr().err
