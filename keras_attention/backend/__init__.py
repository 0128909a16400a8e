"""What each backend does in a way of its own: the only place that names one.

`backend` is that of the backend that Keras runs on: a `Backend`, or the
subclass in the file of its name, which overrides what is faster there.
"""

import importlib

import keras

from keras_attention.backend.base import Backend


def find_backend() -> Backend:
    """Return what the backend has that Keras runs on."""
    module = f"{__name__}.{keras.backend.backend()}"
    try:
        return importlib.import_module(module).backend
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return Backend()


backend = find_backend()
