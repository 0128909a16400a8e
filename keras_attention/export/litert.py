"""Export translators to LiteRT, from ids or from text."""

import contextlib
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.export.agreement import check_answers
from keras_attention.export.agreement import check_texts
from keras_attention.export.agreement import probe_inputs
from keras_attention.export.agreement import probe_sources
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.formats import with_tokens
from keras_attention.export.ids import SIGNATURE
from keras_attention.export.ids import as_numbers
from keras_attention.export.ids import check_ids_only
from keras_attention.export.ids import trace_ids
from keras_attention.export.litert_axes import expand_new_axes
from keras_attention.export.litert_copies import without_copies
from keras_attention.export.litert_words import check_litert_tokenizer
from keras_attention.export.litert_words import litert_detokenize
from keras_attention.export.litert_words import litert_tokenize
from keras_attention.export.portable import blamed_layer
from keras_attention.export.portable import quiet
from keras_attention.export.portable import run_program
from keras_attention.export.saved_model import giving
from keras_attention.export.saved_model import save_signatures
from keras_attention.export.tensor_tokenizer import TensorTokenizer
from keras_attention.export.translation_graph import TEXT
from keras_attention.export.translation_graph import TranslationGraph
from keras_attention.extras import require
from keras_attention.files import SEAL
from keras_attention.files import check_seal
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer

QUANTIZATIONS = (None, "float16", "int8")
FULL_INT8 = "full_int8"  # of what comes into operations, too
TEXT_SIGNATURE = "translate"
# Where memory lies depends on the length of a file's name: so many `/.` more.
LAYOUTS = (0, 5, 16)
OPERATIONS = "tensorflow_text:tflite_registrar.SELECT_TFTEXT_OPS"


def export_litert(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    quantize: str | None = None,
    outputs: Sequence[str] = OUTPUTS,
) -> None:
    """Export a model from ids to ids as a LiteRT (TFLite) file.

    The signature is `translate_ids(source_ids int32 (B, T)) -> tokens int32
    (B, N, T'), scores float32 (B, N)`, and optionally `token_scores (B, N,
    T')` and `attention (B, N, T', T)`. Sources can have any length; at least
    one row is needed, because the runtime requires it. The file uses
    built-in operations only. Ids must be framed and padded like the output of
    `source_tokenizer`; with several tokenizers, they are `(B, T, M)`. A model
    of features takes `source` float32 `(B, T, D)`, or images, and, unless it
    is an image, `source_mask` bool `(B, T)`.

    The file is also a ZIP archive that contains both tokenizers as
    `source_tokenizer.json` and `target_tokenizer.json`. Its last 64 bytes,
    the comment of the archive, are the SHA-256 of all bytes before them.

    Before the file is written, it is run, and its results are compared with
    those of the model. The results of a quantized file can differ, so that
    only their shapes and types are compared.

    Args:
        path: The file to write, `*.tflite`. An existing file is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer; `None` for features.
        target_tokenizer: The target tokenizer.
        search: A search strategy that draws no random numbers.
        quantize: `"float16"` or `"int8"` to store rounded weights in half or
            a quarter of the size; `"int8"` leaves small weights unchanged.
            Defaults to `None`.
        outputs: As in `Translator.export`; `"translations"` are `tokens`.
            Defaults to `("translations", "scores")`.

    Raises:
        ValueError: If `path` or `quantize` is invalid, if the model or the
            search cannot be exported, or if the model lacks an output.
        RuntimeError: If the results of the file differ from the model.
        ImportError: If the extra `litert` is not installed.
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    require("ai_edge_litert.interpreter", "litert", "export_litert")
    check_ids_only(model, "export_litert")
    with replaced_file(path, ".tflite") as draft:
        function = trace_ids(model, search, as_numbers(outputs))
        functions = {SIGNATURE: function}
        draft.write_bytes(convert_to_litert(model, functions, quantize))
        append_tokenizers(draft, source_tokenizer, target_tokenizer)
        batches = probe_inputs(model)
        answers = try_litert(draft, SIGNATURE, batches)
        exact, batches = quantize is None, 2 * batches
        check_answers("LiteRT file", model, search, batches, answers, exact)


def export_litert_text(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    quantize: str | None = None,
    outputs: Sequence[str] = OUTPUTS,
) -> None:
    """Export a translator from text to text as a LiteRT file.

    The signature is `translate(text string (B,)) -> translations string (B,
    N), scores float32 (B, N)`, for at least one text; optional outputs are
    those of `export_onnx_text`. The file needs WordPiece operations of
    `tensorflow_text`: run it with
    `ai_edge_litert.interpreter.InterpreterWithCustomOps` and
    `tensorflow_text.tflite_registrar.SELECT_TFTEXT_OPS`. For an app without
    these operations, use `export_litert`, and tokenize in the app. The last
    64 bytes of the file are the SHA-256 of all bytes before them.

    Before the file is written, it is run, and its results are compared with
    those of the model. The results of a quantized file can differ, so that
    only their shapes and types are compared.

    Args:
        path: The file to write, `*.tflite`. An existing file is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer, a `WordPieceTokenizer`.
        target_tokenizer: The target tokenizer, a `WordPieceTokenizer`.
        search: A search strategy that draws no random numbers.
        quantize: As in `export_litert`. Defaults to `None`.
        outputs: As in `Translator.export`. Defaults to `("translations",
            "scores")`.

    Raises:
        ValueError: If `path` or `quantize` is invalid, if the model, the
            search or a tokenizer cannot be exported, or if the model lacks an
            output.
        RuntimeError: If the results of the file differ from the model.
        ImportError: If the extra `litert` or `text` is not installed.
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    require("ai_edge_litert.interpreter", "litert", "export_litert_text")
    require("tensorflow_text", "text", "export_litert_text")
    check_ids_only(model, "export_litert_text")
    tokenizers = source_tokenizer, target_tokenizer
    check_litert_tokenizer("source", source_tokenizer)
    check_litert_tokenizer("target", target_tokenizer)
    forms = [*map(TensorTokenizer, tokenizers)]
    with replaced_file(path, ".tflite") as draft:
        # Not traced anew, also where the user runs functions eagerly.
        function = trace_ids(model, search, as_numbers(outputs))
        function = _trace_text(function.get_concrete_function(), *forms)
        functions = {TEXT_SIGNATURE: function}
        draft.write_bytes(convert_to_litert(model, functions, quantize, forms))
        seal(draft)
        sources = [
            np.array([*map(str.encode, source_tokenizer.detokenize(x))], object)
            for x in probe_sources(source_tokenizer.vocabulary_size)
        ]
        sources.append(np.array([b""], object))
        batches = [{"text": text} for text in sources]
        answers = try_litert(draft, TEXT_SIGNATURE, batches, OPERATIONS)
        graph = TranslationGraph(model, *tokenizers, search)
        run = partial(giving, outputs, graph.translate_text, graph.align_text)
        translate = tf.function(run, [TEXT], autograph=False)
        wanted, exact = map(translate, 2 * sources), quantize is None
        check_texts("LiteRT file", wanted, answers, exact)


def _trace_text(translate_ids, source_tokenizer, target_tokenizer):
    """Trace a function of ids with tokenization before and after it."""

    def translate(text):
        ids = litert_tokenize(source_tokenizer, text)
        found = translate_ids(ids)
        tokens, shape = found.pop("tokens"), tf.shape(found["scores"])
        rows = tf.reshape(tokens, (-1, tokens.shape[-1]))
        texts = litert_detokenize(target_tokenizer, rows)
        found["translations"] = tf.reshape(texts, shape)
        for name in with_tokens(found):
            if name == "source_tokens":
                found[name] = source_tokenizer.tokens(ids)
            if name == "target_tokens":
                found[name] = target_tokenizer.tokens(tokens)
        return found

    function = tf.function(translate, [TEXT], autograph=False)
    function.get_concrete_function()
    return function


def convert_to_litert(
    model: Seq2Seq,
    functions: dict[str, tf.types.experimental.PolymorphicFunction],
    quantize: str | None,
    tokenizers: Sequence[TensorTokenizer] = (),
    sample: dict[str, np.ndarray] | None = None,
) -> bytes:
    """Convert functions of a model to the content of one LiteRT file.

    Args:
        model: The `Seq2Seq`, for error messages.
        functions: Traced `tf.function`s, by signature name.
        quantize: As in `export_litert`.
        tokenizers: The tokenizers that the functions call, which allow
            operations of `tensorflow_text`. Defaults to `()`.
        sample: Inputs of the only function. If `quantize` is `"full_int8"`,
            the values that result from them calibrate the activations.
            Defaults to `None`.

    Raises:
        ValueError: If LiteRT lacks operations for the functions.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(quiet())
        save_signatures(folder, functions, tokenizers)
        expand_new_axes(folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=list(functions)
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.allow_custom_ops = bool(tokenizers)
        if quantize is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if quantize == FULL_INT8:
            names, ops = list(functions), tf.lite.OpsSet
            converter.target_spec.supported_ops = [ops.TFLITE_BUILTINS_INT8]
            converter.representative_dataset = lambda: [(names[0], sample)]
            # Of an interpreter of TensorFlow's own, which reads the sample.
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", UserWarning)
        try:
            return without_copies(converter.convert())
        except Exception as error:  # the converter's own is not public
            raise ValueError(_inexpressible(model, str(error))) from error


def _inexpressible(model, said):
    """Return the error message for a model that LiteRT cannot represent."""
    part, cause = getattr(model, "encoder", None), "most likely its encoder"
    way_out = (
        "Use RecurrentEncoder, or LSTM, GRU, SimpleRNN or RNN(cell), in "
        "Bidirectional or not."
    )
    if part is None:
        cause = "most likely one of its layers"
        part = blamed_layer(model, said) or model
        way_out = "Use another layer, or export to ONNX or a SavedModel."
    if "BitwiseAnd" in said:
        cause = "most likely an `ops.argmax` of floats in one of its layers"
        way_out = (
            "Keras computes it with BitwiseAnd, which LiteRT lacks. Use "
            "ops.cast(ops.top_k(x, 1)[1][..., 0], 'int32') instead."
        )
    return (
        "The built-in operations of LiteRT do not support this model, "
        f"{cause}. Received: {type(part).__name__} `{part.name}`. {way_out} "
        f"LiteRT reports: {said[:400]}"
    )


def append_tokenizers(
    file: Path,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
):
    """Append a ZIP archive with the tokenizers to a file, and a checksum.

    Args:
        file: A LiteRT file, whose readers ignore what follows it.
        source_tokenizer: Stored as `source_tokenizer.json`, unless `None`.
        target_tokenizer: Stored as `target_tokenizer.json`.
    """
    with zipfile.ZipFile(file, "a") as archive:
        for name, tokenizer in (
            ("source_tokenizer.json", source_tokenizer),
            ("target_tokenizer.json", target_tokenizer),
        ):
            if tokenizer is not None:
                archive.writestr(zipfile.ZipInfo(name), tokenizer.to_json())
        archive.comment = SEAL
    seal(file)


def try_litert(
    file: Path,
    signature: str,
    batches: list[dict],
    operations: str | None = None,
) -> list[dict]:
    """Run batches in processes with different memory layouts.

    Args:
        file: As in `run_litert`.
        signature: As in `run_litert`.
        batches: As in `run_litert`.
        operations: As in `run_litert`.

    Returns:
        The results, followed by those of LiteRT without XNNPACK.

    Raises:
        RuntimeError: If the file cannot be run, or if the results of two
            processes differ.
        ValueError: As in `run_litert`.
        ImportError: As in `run_litert`.
    """
    call = signature, batches, operations
    names = [f"{file.parent}{'/.' * n}/{file.name}" for n in LAYOUTS]
    answers, *others = [run_litert(x, *call) for x in names]
    for other in others:
        for given, again in zip(answers, other, strict=True):
            for name, x in given.items():
                nan = x.dtype.kind == "f"
                if not np.array_equal(x, again[name], equal_nan=nan):
                    raise RuntimeError(
                        f"The LiteRT file returns different `{name}` in two "
                        f"processes: {x.tolist()} and {again[name].tolist()}. "
                        "Nothing was written. Please report this."
                    )
    own = run_litert(file, *call, "own")
    return answers + [{k: _unclipped(x) for k, x in y.items()} for y in own]


def _unclipped(x):
    """Convert the lowest float, to which LiteRT clips, to -inf."""
    if x.dtype.kind != "f":
        return x
    return np.where(x <= np.finfo(x.dtype).min, -np.inf, x)


def run_litert(
    file: str | Path,
    signature: str,
    batches: list[dict],
    operations: str | None = None,
    kernels: str = "default",
) -> list[dict]:
    """Run batches in a separate process, with the program `run_litert.py`.

    Args:
        file: The LiteRT file with its checksum.
        signature: The name of its signature.
        batches: The inputs of each run by name, as NumPy arrays of numbers
            or, with type `object`, of bytes.
        operations: The location of additional operations, as the program
            takes it. Defaults to `None`.
        kernels: As the program takes it. Defaults to `"default"`.

    Returns:
        The outputs of each run by name, in the same form.

    Raises:
        ValueError: If the file is truncated or has changed.
        RuntimeError: If the file cannot be loaded or run.
        ImportError: If the extra `litert` is not installed.
    """
    program = require(
        "keras_attention.export.run_litert", "litert", "run_litert"
    )
    check_seal(file)
    options = filter(None, (kernels, operations))
    arguments = [os.fspath(file), signature, *options]
    question = json.dumps(batches, default=program.to_json)
    found = run_program("LiteRT file", "run_litert.py", arguments, question)
    return json.loads(found, object_hook=program.from_json)


for name, write in (
    ("litert", export_litert),
    ("litert_text", export_litert_text),
):
    register_format(
        ExportFormat(
            name,
            write,
            takes_quantize=True,
            takes_outputs=True,
            suffix=".tflite",
        )
    )
