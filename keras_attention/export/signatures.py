"""Functions as the signatures of a SavedModel."""

from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

from keras_attention.text import AbstractTokenizer

Function = tf.types.experimental.PolymorphicFunction


def save_signatures(
    folder: str | Path,
    functions: dict[str, Function],
    tokenizers: Iterable[AbstractTokenizer] = (),
) -> None:
    """Write functions to a folder, each traced once.

    A `tf.function`, also one in a `keras.export.ExportArchive`, would be
    traced once more while it is saved, and its graph written twice.

    Args:
        folder: The folder of the SavedModel.
        functions: Each `tf.function` with an input signature, by the name of
            its signature.
        tokenizers: Those that the functions call, whose tables are written.
            Defaults to `()`.
    """
    traced = {k: f.get_concrete_function() for k, f in functions.items()}
    module = tf.Module()
    module.held = {
        "variables": _once(v for f in traced.values() for v in f.variables),
        "tables": _once(
            part
            for tokenizer in tokenizers
            for part in tf.train.TrackableView(tokenizer).descendants()
            if isinstance(part, tf.saved_model.experimental.TrackableResource)
        ),
    }
    for name, function in traced.items():
        setattr(module, name, function)
    tf.saved_model.save(module, str(folder), traced)


def _once(objects):
    """List objects without those that come again."""
    return list({id(x): x for x in objects}.values())
