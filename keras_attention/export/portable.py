"""What every export needs of the process and of the model."""

import contextlib
from collections.abc import Iterator

import keras

from keras_attention.export.quiet import ONE_AT_A_TIME
from keras_attention.export.sublayers import sublayers
from keras_attention.ops.fast_paths import fast_path


def check_exportable(needed_by: str):
    """Raise a `ValueError` unless Keras runs on TensorFlow.

    Args:
        needed_by: The function that exports, as the user typed it.
    """
    backend = fast_path("NAME", "tensorflow")
    if backend != "tensorflow":
        raise ValueError(
            f"{needed_by} needs Keras on TensorFlow. Received: "
            f"backend={backend!r}. Save the translator, and load and export "
            "it in a process with the environment variable "
            "KERAS_BACKEND=tensorflow."
        )


@contextlib.contextmanager
def portable(model: keras.Model) -> Iterator[None]:
    """Keep cuDNN and XLA out of what is traced inside the block.

    One thread at a time enters: what is set on the model's layers, here and
    inside, is of the whole process.

    Args:
        model: The model that is traced.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        for layer in sublayers(model):
            for name in ("jit_compile", "use_cudnn"):
                if hasattr(layer, name):
                    stack.callback(setattr, layer, name, getattr(layer, name))
                    setattr(layer, name, False)
        yield
