"""Export a stream, whose state is passed as tensors."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.export.agreement import fail
from keras_attention.export.formats import choose_format
from keras_attention.export.ids import check_float32
from keras_attention.export.litert import QUANTIZATIONS
from keras_attention.export.litert import convert_to_litert
from keras_attention.export.litert import try_litert
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.export.saved_model import MAIN_FILE
from keras_attention.export.saved_model import save_signatures
from keras_attention.extras import require
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.ops import portable_program
from keras_attention.streaming import StreamState
from keras_attention.streaming import StreamSteps

SUFFIXES = {"tf_saved_model": "", "litert": ".tflite"}
ASKED = "export_stream"
# Rows, and sizes of the parts of their sources: they grow and shrink.
PROBES = (
    (1, (4, 2)),
    (2, (4, 1)),
    (4, (4, 9)),
    (8, (4,)),
    (2, (3, 1)),
    (8, (6,)),
)
MEMORY = ("keys", "values", "mask")  # whose axis 1 has any size


def export_stream(
    path: str | Path,
    model: Seq2Seq,
    max_length: int = 100,
    format: str | None = None,
    quantize: str | None = None,
    start_id: int = 2,
    end_id: int = 3,
) -> None:
    """Export a stream as a SavedModel or a LiteRT file, and verify it.

    The signatures are `start`, `push` and `end`; `stream_functions` documents
    their inputs and outputs. Each call returns all states of the stream, and
    the next call takes them as inputs, so that a server keeps nothing between
    two requests:

        state = start(batch_size=1)
        state = push(chunk=ids, **state)
        words = state.pop("tokens"), state.pop("lengths")
        words = end(**state)

    The numbers of rows and positions and the size of the state are variable. To
    verify the file, the function compares its tokens with those of
    `model.stream`.

    Args:
        path: The folder to write, or for LiteRT the file, `*.tflite`. An
            earlier export at this path is replaced.
        model: A `Seq2Seq` that can be streamed.
        max_length: Maximum number of tokens in a hypothesis, including the end
            token. Defaults to `100`.
        format: `"tf_saved_model"` or `"litert"`. Defaults to `None`, which
            selects the format by the extension of `path`.
        quantize: For LiteRT, as in `export_litert`. Defaults to `None`.
        start_id: The id of the start token. Defaults to `2`.
        end_id: The id of the end token. Defaults to `3`.

    Raises:
        ValueError: If an argument is invalid, if a layer of the model needs
            the end of the source, or if `path` exists and is not an export.
        RuntimeError: If the results of the file differ from the model.
        ImportError: If the extra `litert` is needed and not installed.

    Example:

    ```python
    model.harden()  # what was trained with Monotonic() can be streamed
    export_stream("reader/1", model, max_length=60)
    export_stream("reader.tflite", model, 60)
    ```
    """
    format = choose_format(path, format, SUFFIXES)
    check_choice("quantize", quantize, QUANTIZATIONS)
    check_integer("max_length", max_length)
    check_object("model", model, Seq2Seq, "Only a Seq2Seq can be streamed.")
    check_built(model, "stream", "Train it, load it, or call it once.")
    check_exportable(ASKED)
    options = max_length, start_id, end_id
    if format == "litert":
        require("ai_edge_litert.interpreter", "litert", ASKED)
        check_float32(model, ASKED)
        _write_litert(path, model, quantize, *options)
    elif quantize is not None:
        raise ValueError(
            "`quantize` needs format='litert'. Received: "
            f"format={format!r}, quantize={quantize!r}. Leave it out."
        )
    else:
        _write_saved_model(path, model, *options)


def stream_functions(
    model: Seq2Seq, max_length: int, start_id: int, end_id: int
) -> dict:
    """Return `start`, `push` and `end`, with all states as inputs or outputs.

    - `start(batch_size)` returns the state of this number of rows; tensors
      with rows have them on axis 0.
    - `push(chunk, ...)` also takes the state and, for features,
      `mask_of_chunk`. It returns `tokens (B, max_length)`, new ids followed by
      0; `lengths (B,)`, their number; and the next state.
    - `end(...)` takes the state, and returns `tokens` and `lengths`.

    Args:
        model: A `Seq2Seq` that can be streamed.
        max_length: Maximum number of tokens in a hypothesis, including the end
            token.
        start_id: The id of the start token.
        end_id: The id of the end token.

    Returns:
        The `tf.function`s, not traced yet, by signature name.
    """
    steps = StreamSteps(model, start_id, end_id)
    structure = steps.start(1, 1)

    def start(batch_size):
        return _named(steps.start(batch_size, max_length))

    def push(chunk, *given):
        mask = None
        if not steps.reads_ids:
            mask, *given = given
        words, state = write(steps.read(chunk, mask, packed(given)), False)
        return {**words, **_named(state.kept(state.needed(steps.lookbacks)))}

    def end(*given):
        return write(packed(given), True)[0]

    def write(state, ended):
        tokens, lengths, _, state = steps.write(state, ended, max_length)
        return {"tokens": tokens, "lengths": lengths}, state

    def packed(tensors):
        return keras.tree.pack_sequence_as(structure, list(tensors))

    rows = tf.TensorSpec((), tf.int32, "batch_size")
    source = (None, None, *model.source_spec.shape[2:])
    chunk = [tf.TensorSpec(source, model.source_spec.dtype, "chunk")]
    if not steps.reads_ids:
        chunk.append(tf.TensorSpec((None, None), tf.bool, "mask_of_chunk"))
    state = [_spec(name, x) for name, x in _named(structure).items()]
    return {
        "start": tf.function(start, [rows], autograph=False),
        "push": tf.function(push, [*chunk, *state], autograph=False),
        "end": tf.function(end, state, autograph=False),
    }


def _named(state: StreamState) -> dict:
    """Return the tensors of a state by name."""
    named = {}
    for name, value in state._asdict().items():
        if isinstance(value, list):
            named.update({f"{name}_{i}": x for i, x in enumerate(value)})
        else:
            named[name] = value
    return named


def _spec(name, x):
    axes = [None, *x.shape[1:]]
    if name.partition("_")[0] in MEMORY:
        axes[1] = None
    return tf.TensorSpec(axes, x.dtype, name)


def _write_saved_model(path, model, *options):
    with replaced_folder(path, MAIN_FILE) as folder, portable(model):
        save_signatures(folder, stream_functions(model, *options))
        signatures = tf.saved_model.load(folder).signatures

        def run(calls):
            answers = [{}]
            for name, inputs in calls:
                known = {**answers[-1], **inputs}
                _, wanted = signatures[name].structured_input_signature
                given = {k: tf.convert_to_tensor(known[k]) for k in wanted}
                answers.append(signatures[name](**given))
            return answers[1:]

        _check_words("SavedModel", run, model, *options)


def _write_litert(path, model, quantize, *options):
    with replaced_file(path, ".tflite") as draft:
        with (
            portable(model),
            exportable_recurrence(model),
            portable_program(),
        ):
            functions = stream_functions(model, *options)
            for function in functions.values():
                function.get_concrete_function()
        draft.write_bytes(convert_to_litert(model, functions, quantize))
        seal(draft)

        def run(calls):
            names, batches = zip(*calls, strict=True)
            return try_litert(draft, " ".join(names), list(batches))

        exact = quantize is None
        _check_words("LiteRT file", run, model, *options, exact=exact)


def _check_words(made, run, model, max_length, start_id, end_id, exact=True):
    """Raise an error unless a file generates the same ids as the stream.

    If two tokens are almost equally likely, rounding errors decide between
    them. Therefore, only half of the rows must be equal.
    """
    calls, wanted = [], []
    for parts in _probe_parts(model):
        rows = len(parts[0]["chunk"])
        stream = model.stream(max_length, rows, start_id, end_id)
        calls += [("start", {"batch_size": np.int32(rows)})]
        calls += [*(("push", part) for part in parts), ("end", {})]
        wanted += [
            None,
            *(stream.push(x["chunk"]) for x in parts),
            stream.end(),
        ]
    answers = run(calls)  # of each call, perhaps several times
    wanted *= len(answers) // len(calls)
    same = []
    for answer, words in zip(answers, wanted, strict=True):
        if words is not None:
            pairs = zip(_words(answer), words, strict=True)
            same += [given == found for given, found in pairs]
    if exact and 2 * sum(same) < len(same):
        given = [_words(x) for x in answers if "tokens" in x]
        fail(made, "words", given, wanted)


def _probe_parts(model):
    """Draw sources to test a stream with, each as a list of chunks."""
    draw, spec = np.random.default_rng(0), model.source_spec
    classes = model.source_vocabulary_size
    for rows, sizes in PROBES:
        shapes = [(rows, n, *spec.shape[2:]) for n in sizes]
        if classes is not None:
            chunks = [draw.integers(classes, size=x) for x in shapes]
            yield [{"chunk": x.astype("int32")} for x in chunks]
        else:
            chunks = [draw.normal(size=x).astype(spec.dtype) for x in shapes]
            yield [
                {"chunk": x, "mask_of_chunk": np.ones(x.shape[:2], bool)}
                for x in chunks
            ]


def _words(answer):
    """Convert the arrays of a step to one list of ids per row."""
    rows = zip(answer["tokens"], answer["lengths"], strict=True)
    return [np.asarray(ids)[: int(n)].tolist() for ids, n in rows]
