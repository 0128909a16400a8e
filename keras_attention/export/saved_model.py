"""Export translators as a SavedModel, for TensorFlow Serving."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import tensorflow as tf

from keras_attention.export.agreement import close
from keras_attention.export.agreement import fail
from keras_attention.export.agreement import probe_inputs
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.formats import with_tokens
from keras_attention.export.ids import chosen
from keras_attention.export.portable import OF_INSIDE
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.portable import refuse_name
from keras_attention.export.tensor_tokenizer import TensorTokenizer
from keras_attention.export.translation_graph import REQUIRED
from keras_attention.export.translation_graph import TEXT
from keras_attention.export.translation_graph import TranslationGraph
from keras_attention.files import replaced_folder
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.text import AbstractTokenizer

PROBE = ["", "a", "3 b, c."]  # texts that the folder is tried on
PHRASES = [["", ""], ["a", ""], ["3", "b"]]  # and phrases for them
MAIN_FILE = "saved_model.pb"
Function = tf.types.experimental.PolymorphicFunction


def export_saved_model(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    max_source_length: int | None = None,
    replace_unknown: bool = False,
    outputs: Sequence[str] = OUTPUTS,
) -> None:
    """Export a translator from text to text as a SavedModel.

    Its signatures are `serving_default` and `align`, and with a `BeamSearch`
    also `constrained(text, required)`. `TranslationGraph` documents their
    outputs in `translate` and `align`. `serving_default` can return more of
    them: token scores together with the target tokens, and attention together
    with the source tokens as well. The folder contains all tables and weights
    and can be moved. It has no cuDNN operations: a model that was exported on
    a machine with a GPU runs on one without.

    The folder is loaded and run before it replaces an earlier export.

    Args:
        path: The folder to write, such as `saved_models/dates/1`. An earlier
            export there is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer; `None` for features, which are
            the inputs `source` and, unless they are images, `source_mask`,
            instead of `text`.
        target_tokenizer: The target tokenizer.
        search: A search strategy.
        max_source_length: As in `Translator`. Defaults to `None`, which means
            no limit.
        replace_unknown: As in `Translator`. Defaults to `False`.
        outputs: As in `Translator.export`. Defaults to `("translations",
            "scores")`.

    Raises:
        ValueError: If `path` exists and is not an export, or if the model
            lacks an output.
        RuntimeError: If the results of the folder differ from the model.
    """
    check_exportable("export_saved_model")
    with replaced_folder(path, MAIN_FILE) as folder, portable(model):
        parts = model, source_tokenizer, target_tokenizer, search
        graph = TranslationGraph(*parts, replace_unknown)
        if source_tokenizer is None:
            inputs = [*graph.inputs]
            runs = graph.translate_source, graph.align_source
            constrain, longest = graph.translate_source, {}
            batches = probe_inputs(model)
            probes = next(x for x in batches if len(x["source"]) == len(PROBE))
        else:
            inputs = [TEXT]
            runs = graph.translate_text, graph.align_text
            constrain = graph.constrain_text
            longest = {"max_source_length": max_source_length}
            probes = {"text": tf.constant(PROBE)}
        signatures = {
            "serving_default": (partial(giving, outputs, *runs), inputs),
            "align": (runs[1], inputs),
        }
        if isinstance(search, BeamSearch):
            signatures["constrained"] = constrain, [*inputs, REQUIRED]
        functions = {
            name: tf.function(partial(run, **longest), inputs, autograph=False)
            for name, (run, inputs) in signatures.items()
        }
        tokenizers = graph.source_tokenizer, graph.target_tokenizer
        save_signatures(folder, functions, filter(None, tokenizers))
        _check_written(folder, functions, probes)


def giving(
    outputs: Sequence[str],
    translate: Callable,
    align: Callable,
    *columns,
    **options,
) -> dict:
    """Run the function with the requested outputs, and return only these.

    Args:
        outputs: As in `Translator.export`.
        translate: A function that returns `OUTPUTS`, of a
            `TranslationGraph`.
        align: A function that returns all outputs.
        *columns: Their arguments.
        **options: Their keyword arguments.
    """
    if {*outputs} == {*OUTPUTS}:
        return translate(*columns, **options)
    found = align(*columns, **options)
    names = with_tokens(outputs)
    # A source of features has no tokens.
    return chosen(found, [x for x in names if x in found or x in outputs])


def _check_written(folder, functions, probes):
    signatures = tf.saved_model.load(folder).signatures
    probes = {**probes, "required": tf.constant(PHRASES)}
    probes = {name: tf.convert_to_tensor(x) for name, x in probes.items()}
    for name, function in functions.items():
        inputs = {x.name: probes[x.name] for x in function.input_signature}
        given = signatures[name](**inputs)
        for key, value in function(*inputs.values()).items():
            if not close(given[key].numpy(), value.numpy()):
                fail(f"SavedModel's `{name}`", key, given[key], value)


def save_signatures(
    folder: str | Path,
    functions: dict[str, Function],
    tokenizers: Iterable[TensorTokenizer] = (),
) -> None:
    """Write functions to a folder, and trace each function only once.

    A `tf.function`, even in a `keras.export.ExportArchive`, would be traced
    again while it is saved, and its graph written twice.

    Args:
        folder: The folder of the SavedModel.
        functions: Each `tf.function` with an input signature, by signature
            name.
        tokenizers: The tokenizers that the functions call, whose tables are
            written. Defaults to `()`.
    """
    traced = {k: f.get_concrete_function() for k, f in functions.items()}
    for variable in (v for f in traced.values() for v in f.variables):
        if variable.name.startswith(OF_INSIDE):
            refuse_name(f"weight `{variable.name}`")
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
    """Return a list without repeated objects."""
    return list({id(x): x for x in objects}.values())


register_format(
    ExportFormat(
        "tf_saved_model",
        export_saved_model,
        options=("max_source_length", "replace_unknown"),
        takes_outputs=True,
    )
)
