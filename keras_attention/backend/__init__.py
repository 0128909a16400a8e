"""What each backend does in a way of its own: the only place that names one.

`current` is the file of the backend that Keras runs on. Its functions are fast
paths, and its constants say what holds on that backend alone. Where there is
no such file it is `None`, and `keras.ops` does everything.
"""

import importlib
from types import ModuleType

import keras


def find_module() -> ModuleType | None:
    """Return the file of the backend that Keras runs on, if there is one."""
    module = f"{__name__}.{keras.backend.backend()}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


current = find_module()
