"""What each backend does in a way of its own: the only place that names one.

`backend` is that of the backend that Keras runs on: the one in the file of its
name, which overrides what is faster there, or `PlainBackend`.
"""

import importlib

import keras

from keras_attention.backend.base import AbstractBackend
from keras_attention.backend.base import PlainBackend


def find_backend() -> AbstractBackend:
    """Return what the backend has that Keras runs on."""
    module = f"{__name__}.{keras.backend.backend()}"
    try:
        return importlib.import_module(module).backend
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return PlainBackend()


backend = find_backend()
ops = backend.ops
