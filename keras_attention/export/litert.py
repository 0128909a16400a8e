"""A translator as one LiteRT file, for phones: from ids to ids."""

import pickle
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import keras
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.export.agreement import check_answers
from keras_attention.export.agreement import probe_sources
from keras_attention.export.ids import SIGNATURE
from keras_attention.export.ids import check_ids
from keras_attention.export.ids import trace_ids
from keras_attention.export.quiet import quiet
from keras_attention.extras import require
from keras_attention.files import replaced_file

QUANTIZATIONS = (None, "float16", "int8")
PROGRAM = Path(__file__).with_name("run_litert.py")


def export_litert(
    path: str | Path,
    model,
    source_tokenizer,
    target_tokenizer,
    search,
    quantize: str | None = None,
):
    """Write ids to ids as a LiteRT (TFLite) file, read it back and run it.

    Its signature is `translate_ids(source_ids int32 (B, T)) -> tokens int32
    (B, N, T'), scores float32 (B, N)`, for sources of any length, but for at
    least one row, as the runtime asks for it. It needs built-in operations
    only. Ids are framed and padded as `source_tokenizer` gives them.

    Both tokenizers are in the same file, which is also a ZIP archive, as
    `source_tokenizer.json` and `target_tokenizer.json`.

    What the file finds is compared with what the model finds; a quantized one
    may find something else, so there shapes and types alone are.

    Args:
        path: The file to write, `*.tflite`. One that is there is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: Its source's tokenizer.
        target_tokenizer: Its target's tokenizer.
        search: A search strategy that draws no random numbers.
        quantize: `"float16"` or `"int8"` for weights of half or a quarter of
            the size, rounded; `"int8"` leaves small ones alone. Defaults to
            `None`.

    Raises:
        ValueError: If `path` or `quantize` has a wrong value, or if the model
            or the search cannot be exported.
        RuntimeError: If what was written does not give what the model gives.
        ImportError: If the extra `litert` is not installed.
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    require("ai_edge_litert.interpreter", "litert", "export_litert")
    check_ids(model, "export_litert")
    with replaced_file(path, ".tflite") as draft:
        function = trace_ids(model, search)
        content = convert_to_litert(model, SIGNATURE, function, quantize)
        draft.write_bytes(content)
        append_tokenizers(draft, source_tokenizer, target_tokenizer)
        sources = probe_sources(model.source_vocabulary_size)
        batches = [{"source_ids": ids} for ids in sources]
        answers = run_litert(PROGRAM, draft, SIGNATURE, batches)
        check_answers(
            "LiteRT file", model, search, sources, answers, quantize is None
        )


def convert_to_litert(
    model, signature, function, quantize, archive=None
) -> bytes:
    """Convert one function of a model to a LiteRT file's content.

    Args:
        model: The `Seq2Seq`, for the error.
        signature: What to call the function.
        function: A traced `tf.function`.
        quantize: As in `export_litert`.
        archive: A `keras.export.ExportArchive` that tracks what the function
            needs beside weights; with it, operations of `tensorflow_text`
            are allowed.

    Raises:
        ValueError: If LiteRT cannot express it.
    """
    custom = archive is not None
    archive = archive if custom else keras.export.ExportArchive()
    with tempfile.TemporaryDirectory() as folder, quiet():
        archive.add_endpoint(signature, function)
        archive.write_out(folder, verbose=False)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=[signature]
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.allow_custom_ops = custom
        if quantize is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        try:
            return converter.convert()
        except Exception as error:  # the converter's own is not public
            raise ValueError(
                "The built-in operations of LiteRT cannot express this model, "
                "most likely its encoder. Received: "
                f"encoder={type(model.encoder).__name__} "
                f"`{model.encoder.name}`. Use RecurrentEncoder, or LSTM, GRU, "
                "SimpleRNN or RNN(cell), in Bidirectional or not. LiteRT says: "
                f"{str(error)[:400]}"
            ) from error


def append_tokenizers(file: Path, source_tokenizer, target_tokenizer):
    """Make a file a ZIP archive as well, with the tokenizers in it.

    Args:
        file: A LiteRT file, whose readers ignore what follows.
        source_tokenizer: Kept as `source_tokenizer.json`.
        target_tokenizer: Kept as `target_tokenizer.json`.
    """
    with zipfile.ZipFile(file, "a") as archive:
        for side, tokenizer in (
            ("source", source_tokenizer),
            ("target", target_tokenizer),
        ):
            name = zipfile.ZipInfo(f"{side}_tokenizer.json")  # of 1980
            archive.writestr(name, tokenizer.to_json())


def run_litert(program: Path, file: Path, signature: str, batches) -> list:
    """Run batches in a process of its own.

    Args:
        program: What to run it with, such as `run_litert.py`.
        file: The LiteRT file.
        signature: The name of its signature.
        batches: A dict of inputs for each run.

    Returns:
        A dict of outputs for each run.

    Raises:
        RuntimeError: If the file cannot be loaded or run.
    """
    # -P: the folder of the program holds files of the names of packages.
    command = [sys.executable, "-P", program, file, signature]
    done = subprocess.run(
        command, input=pickle.dumps(batches), capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(
            "The LiteRT file was made, but cannot be run. Its process ended "
            f"with {done.returncode}: {said[-800:]}. Nothing was written. "
            "Please report this."
        )
    return pickle.loads(done.stdout)
