"""What every export needs of the process and of the model."""

import contextlib

import keras


def check_exportable(needed_by: str):
    """Raise a `ValueError` unless Keras runs on TensorFlow."""
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise ValueError(
            f"{needed_by} needs Keras on TensorFlow. Received: "
            f"backend={backend!r}. Save the translator, and load and export "
            "it in a process with the environment variable "
            "KERAS_BACKEND=tensorflow."
        )


@contextlib.contextmanager
def portable(model):
    """Keep cuDNN and XLA out of what is traced inside the block."""
    layers = [
        layer
        for layer in model._flatten_layers()
        if hasattr(layer, "use_cudnn")
    ]
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


def text_archive(source_tokenizer, target_tokenizer):
    """Begin a `keras.export.ExportArchive` that tracks both tokenizers."""
    archive = keras.export.ExportArchive()
    archive.track(source_tokenizer)
    if target_tokenizer is not source_tokenizer:
        archive.track(target_tokenizer)
    return archive
