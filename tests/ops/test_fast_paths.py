"""Fast paths: found by name where there are any."""

import sys

import keras
import pytest

from keras_attention.ops.fast_paths import as_written
from keras_attention.ops.fast_paths import fast_path

MODULE = f"keras_attention.backend.{keras.backend.backend()}"


def test_what_the_backend_has_is_found():
    found = fast_path("compiled")
    assert found.__module__ == MODULE
    assert fast_path("faster_than_light") is None


def test_without_the_backend_s_file_there_is_none(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "abacus")
    assert fast_path("compiled") is None


def test_a_broken_file_is_no_missing_file(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == MODULE:
                raise ModuleNotFoundError("no beads", name="beads")

    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="no beads"):
        fast_path("compiled")


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
