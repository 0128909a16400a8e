"""A stream for other programs, whose state travels as tensors."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.export.ids import check_float32
from keras_attention.export.litert import QUANTIZATIONS
from keras_attention.export.litert import convert_functions
from keras_attention.export.litert import run_litert
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.export.saved_model import MAIN_FILE
from keras_attention.export.signatures import save_signatures
from keras_attention.export.stream_graph import StreamGraph
from keras_attention.export.stream_graph import probe_parts
from keras_attention.extras import require
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.ops import kernels_as_they_are

FORMATS = ("tf_saved_model", "litert")
ASKED = "export_stream"


def export_stream(
    path: str | Path,
    model: Seq2Seq,
    max_length: int = 100,
    format: str = "tf_saved_model",
    quantize: str | None = None,
    start_id: int = 2,
    end_id: int = 3,
) -> None:
    """Write a stream as a SavedModel or a LiteRT file, and run it.

    Its signatures are `start`, `push` and `end`; `StreamGraph` names their
    inputs and outputs. Whatever a stream remembers is an output of one and an
    input of the next, so that a server keeps nothing between two requests:

        state = start(batch_size=1)
        state = push(chunk=ids, **state)
        words = state.pop("tokens"), state.pop("lengths")
        words = end(**state)

    Rows, positions and the memory of the state may have any size. The words
    of the file are compared with those of `model.stream`.

    Args:
        path: The folder to write, or for LiteRT the file, `*.tflite`. What an
            export wrote there before is replaced.
        model: A `Seq2Seq` that can be streamed.
        max_length: Longest text, in tokens, the end token included. Defaults
            to `100`.
        format: `"tf_saved_model"` or `"litert"`. Defaults to
            `"tf_saved_model"`.
        quantize: For LiteRT, as in `export_litert`. Defaults to `None`.
        start_id: The token to begin with. Defaults to `2`.
        end_id: The token that ends a text. Defaults to `3`.

    Raises:
        ValueError: If an argument has a wrong value, if a part of the model
            needs the end of the source, or if something else stands at
            `path`.
        RuntimeError: If the file does not give what the model gives.
        ImportError: If the extra `litert` is needed and not installed.

    Example:

    ```python
    model.harden()  # what was trained with Monotonic() can be streamed
    export_stream("reader/1", model, max_length=60)
    export_stream("reader.tflite", model, 60, format="litert")
    ```
    """
    check_choice("format", format, FORMATS)
    check_choice("quantize", quantize, QUANTIZATIONS)
    check_integer("max_length", max_length)
    check_object("model", model, Seq2Seq, "Only a Seq2Seq can be streamed.")
    check_built(model, "stream", "Train it, load it, or call it once.")
    check_exportable(ASKED)
    given = model, max_length, start_id, end_id
    if format == "litert":
        require("ai_edge_litert.interpreter", "litert", ASKED)
        check_float32(model, ASKED)
        _write_litert(path, quantize, *given)
    elif quantize is not None:
        raise ValueError(
            "`quantize` needs format='litert'. Received: "
            f"format={format!r}, quantize={quantize!r}. Leave it out."
        )
    else:
        _write_saved_model(path, *given)


def _write_saved_model(path, model, *given):
    with replaced_folder(path, MAIN_FILE) as folder, portable(model):
        save_signatures(folder, StreamGraph(model, *given).functions)
        signatures = tf.saved_model.load(folder).signatures

        def run(calls):
            answers = [{}]
            for name, inputs in calls:
                inputs = {k: tf.constant(x) for k, x in inputs.items()}
                _, wanted = signatures[name].structured_input_signature
                known = {**answers[-1], **inputs}
                known = {k: x for k, x in known.items() if k in wanted}
                answers.append(signatures[name](**known))
            return answers[1:]

        _check_words("SavedModel", model, run, *given)


def _write_litert(path, quantize, model, *given):
    with replaced_file(path, ".tflite") as draft:
        with (
            portable(model),
            exportable_recurrence(model),
            kernels_as_they_are(),
        ):
            functions = StreamGraph(model, *given).functions
            for function in functions.values():
                function.get_concrete_function()
        draft.write_bytes(convert_functions(model, functions, quantize))
        seal(draft)

        def run(calls):
            names, batches = zip(*calls, strict=True)
            return run_litert(draft, " ".join(names), list(batches))

        exact = quantize is None
        _check_words("LiteRT file", model, run, *given, exact=exact)


def _check_words(made, model, run, max_length, start_id, end_id, exact=True):
    """Raise an error unless a file writes what the model's stream writes.

    Where two words are almost equally likely, rounding decides, so at least
    half of the rows must be equal.
    """
    same = []
    for parts in probe_parts(model):
        rows = len(parts[0])
        stream = model.stream(max_length, rows, start_id, end_id)
        wanted = [*map(stream.push, parts), stream.end()]
        calls = [("start", {"batch_size": np.int32(rows)})]
        for part in parts:
            real = {"mask_of_chunk": np.ones(part.shape[:2], bool)}
            reads_ids = model.source_vocabulary_size is not None
            calls.append(
                ("push", {"chunk": part, **({} if reads_ids else real)})
            )
        answers = run([*calls, ("end", {})])[1:]
        given = [_words(answer) for answer in answers]
        same += [
            all(x[row] == y[row] for x, y in zip(given, wanted, strict=True))
            for row in range(rows)
        ]
    if exact and 2 * sum(same) < len(same):
        raise RuntimeError(
            f"The {made} writes other words than the model. Received: {given}, "
            f"wanted: {wanted}. Nothing was written. Please report this."
        )


def _words(answer):
    """Turn the arrays of a step into a list of ids a row."""
    rows = zip(answer["tokens"], answer["lengths"], strict=True)
    return [np.asarray(ids)[: int(n)].tolist() for ids, n in rows]
