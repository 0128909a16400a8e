"""A translator as a SavedModel, for TensorFlow Serving."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attention.export.graph import TEXT
from keras_attention.export.graph import TranslationGraph
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.portable import text_archive
from keras_attention.files import replaced_folder

PROBE = ["", "a", "3 b, c."]  # what the written file has to repeat
MAIN_FILE = "saved_model.pb"


def export_saved_model(
    path: str | Path,
    model,
    source_tokenizer,
    target_tokenizer,
    search,
    **options,
):
    """Write text to text as a SavedModel, and read it back.

    Its signatures are `serving_default` and `align`; the names and shapes of
    their outputs stand in `TranslationGraph`. Tables and weights are inside
    the folder, which may be moved. No cuDNN operation gets in, so that a file
    written beside a GPU runs without one.

    Args:
        path: The folder to write, such as `saved_models/dates/1`. What an
            export wrote there before is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: Its source's tokenizer.
        target_tokenizer: Its target's tokenizer.
        search: A search strategy.
        **options: Of the `TranslationGraph`.

    Raises:
        ValueError: If `path` holds something else.
        RuntimeError: If what was written does not give what the model gives.
    """
    check_exportable("export_saved_model")
    parts = model, source_tokenizer, target_tokenizer, search
    with replaced_folder(path, MAIN_FILE) as folder, portable(model):
        graph = TranslationGraph(*parts, **options)
        archive = text_archive(source_tokenizer, target_tokenizer)
        archive.add_endpoint("serving_default", graph.translate, [TEXT])
        archive.add_endpoint("align", graph.align, [TEXT])
        archive.write_out(folder, verbose=False)
        _check_written(folder, graph)


def _check_written(folder, graph):
    signatures = tf.saved_model.load(folder).signatures
    text = tf.constant(PROBE)
    for name, wanted in (
        ("serving_default", graph.translate(text)),
        ("align", graph.align(text)),
    ):
        given = signatures[name](text=text)
        for key, value in wanted.items():
            if not _equal(given[key].numpy(), value.numpy()):
                raise RuntimeError(
                    f"The SavedModel's `{name}` gives other `{key}` than the "
                    f"model. Received: {given[key]}, wanted: {value}. Nothing "
                    "was written. Please report this."
                )


def _equal(x, y):
    if x.dtype.kind == "f":
        return x.shape == y.shape and np.allclose(x, y, atol=1e-4)
    return np.array_equal(x, y)
