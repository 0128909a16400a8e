"""The command `export FOLDER PATH`, for translators and Keras models."""

import argparse
from pathlib import Path

import keras
import numpy as np

from keras_attention.commands.arguments import WrongArguments
from keras_attention.commands.translate import choose_search
from keras_attention.extras import require
from keras_attention.files import open_to_read
from keras_attention.files import reading
from keras_attention.translator import Translator

MODEL = ".keras"
NEEDS_MODEL = "The command `export` needs a model without custom layers."
CUSTOM = "Export models with custom layers in Python, with `export_model`."
NEEDS_ARRAYS = "`--sample` must be a NumPy file, *.npy or *.npz."


def run(arguments: argparse.Namespace):
    """Export a saved translator or a Keras model, and verify the result."""
    _export(arguments)
    path = Path(arguments.path)
    files = [x for x in (path, *path.rglob("*")) if x.is_file()]
    size = sum(x.stat().st_size for x in files)
    print(f"{path}: {size / 1e6:.2f} MB, verified against the model")


def _export(arguments):
    path, sample = arguments.folder, arguments.sample
    is_model = path.suffix == MODEL
    if is_model and sample is None:
        raise WrongArguments(
            "`--sample` is required for a Keras model: a file with example "
            f"inputs, *.npy or *.npz. Received: {path}, no --sample. "
            "Create one with np.save('sample.npy', x[:8])."
        )
    if not is_model and sample is not None:
        raise WrongArguments(
            "`--sample` is only for Keras models, *.keras. "
            f"Received: {path}, sample={sample}. Leave it out."
        )
    if not is_model:
        translator = Translator.load(path)
        search = choose_search(translator.search, arguments)
        translator.with_search(search).export(
            arguments.path,
            arguments.format,
            quantize=arguments.quantize,
            outputs=arguments.outputs,
        )
        return
    given = {
        "--max-length": arguments.max_length,
        "--n-best": arguments.n_best,
        "--outputs": arguments.outputs[2:] or None,
    }
    for name, value in given.items():
        if value is not None:
            raise WrongArguments(
                f"`{name}` is only for saved translators. Received: "
                f"{path}, {name}={value}. Leave it out."
            )
    # Without TensorFlow it cannot be imported.
    export = require("keras_attention.export.model", "tensorflow", "export")
    with reading(path, NEEDS_MODEL, CUSTOM):
        model = keras.saving.load_model(path)
    export.export_model(
        model,
        arguments.path,
        arguments.format,
        sample=read_sample(sample),
        quantize=arguments.quantize,
    )


def read_sample(file: Path) -> np.ndarray | list | dict:
    """Read an array, or a list or dictionary of arrays.

    Args:
        file: A file from `np.save` or `np.savez`. Unnamed arrays of `savez`
            become a list.
    """
    with reading(file, NEEDS_ARRAYS), open_to_read(file) as content:
        found = np.load(content, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        named = dict(found)
    if list(named) == [f"arr_{i}" for i in range(len(named))]:
        return list(named.values())
    return named
