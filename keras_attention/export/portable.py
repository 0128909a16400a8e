"""What every export needs of the process and of the model."""

import contextlib
from collections.abc import Iterator

import keras

from keras_attention.export.sublayers import sublayers
from keras_attention.text import AbstractTokenizer


def check_exportable(needed_by: str):
    """Raise a `ValueError` unless Keras runs on TensorFlow.

    Args:
        needed_by: The function that exports, as the user typed it.
    """
    backend = keras.backend.backend()
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

    Args:
        model: The model that is traced.
    """
    layers = [x for x in sublayers(model) if hasattr(x, "use_cudnn")]
    before = [layer.use_cudnn for layer in layers]
    xla = model.jit_compile
    try:
        model.jit_compile = False
        for layer in layers:
            layer.use_cudnn = False
        yield
    finally:
        model.jit_compile = xla
        for layer, setting in zip(layers, before, strict=True):
            layer.use_cudnn = setting


def text_archive(
    source_tokenizer: AbstractTokenizer, target_tokenizer: AbstractTokenizer
) -> keras.export.ExportArchive:
    """Begin an archive that tracks the tables of both tokenizers.

    Args:
        source_tokenizer: The one.
        target_tokenizer: The other, which may be the same.
    """
    archive = keras.export.ExportArchive()
    archive.track(source_tokenizer)
    if target_tokenizer is not source_tokenizer:
        archive.track(target_tokenizer)
    return archive
