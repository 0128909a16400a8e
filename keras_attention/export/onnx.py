"""Export translators to ONNX, from ids to ids."""

import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.export.agreement import check_answers
from keras_attention.export.agreement import probe_inputs
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.ids import SIGNATURE
from keras_attention.export.ids import as_numbers
from keras_attention.export.ids import check_ids_only
from keras_attention.export.ids import trace_ids
from keras_attention.export.onnx_recurrence import RECURRENCE
from keras_attention.export.onnx_recurrence import onnx_recurrence
from keras_attention.export.onnx_recurrence import store_in_8_bits
from keras_attention.export.onnx_sharing import graphs_of
from keras_attention.export.onnx_sharing import rename
from keras_attention.export.onnx_sharing import share_equal
from keras_attention.export.portable import quiet
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.extras import require
from keras_attention.files import SEAL
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer

OPSET = 18
QUANTIZATIONS = (None, "int8")
AXES = {  # of what a translator's file takes and gives
    "source_ids": ("batch", "source"),
    "source": ("batch", "source"),
    "source_mask": ("batch", "source"),
    "translations": ("batch", "n"),
    "tokens": ("batch", "n", "target"),
    "scores": ("batch", "n"),
    "source_tokens": ("batch", "source"),
    "target_tokens": ("batch", "n", "target"),
    "token_scores": ("batch", "n", "target"),
    "attention": ("batch", "n", "target", "source"),
}
COUNT_AND_CONDITION = 2  # what a loop, and its body, take before variables
CONDITION = 1  # what a body gives before its variables


def export_onnx(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    quantize: str | None = None,
    outputs: Sequence[str] = OUTPUTS,
) -> None:
    """Export a model from ids to ids as an ONNX file.

    The input is `source_ids` int32 `(B, T)` of any size. The outputs are
    `tokens` int32 `(B, N, T')` and `scores` float32 `(B, N)`, and optionally
    `token_scores (B, N, T')` and `attention (B, N, T', T)`. Ids must be
    framed and padded like the output of `source_tokenizer`; with several
    tokenizers, they are `(B, T, M)`. A model of features takes `source`
    float32 `(B, T, D)`, or images, and, unless it is an image, `source_mask`
    bool `(B, T)`. The metadata of the file contain both tokenizers as JSON,
    `source_tokenizer` and `target_tokenizer`. The last 64 bytes of the file,
    the metadata entry `sha256`, are the SHA-256 of all bytes before them.

    Before the file is written, it is run, and its results are compared with
    those of the model.

    Args:
        path: The file to write, `*.onnx`. An existing file is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer; `None` for features.
        target_tokenizer: The target tokenizer.
        search: A search strategy that draws no random numbers.
        quantize: `"int8"` to store the weights of matrix products in 8 bits,
            a quarter of the size. The results can differ, so that only their
            shapes and types are compared. The inputs of a product are rounded
            by the range of the whole batch. Therefore, if two hypotheses are
            almost equally good, the result of a row depends on the others.
            Defaults to `None`, float32.
        outputs: As in `Translator.export`; `"translations"` are `tokens`.
            Defaults to `("translations", "scores")`.

    Raises:
        ValueError: If `path` or `quantize` is invalid, if the model or the
            search cannot be exported, or if the model lacks an output.
        RuntimeError: If the results of the file differ from the model.
        ImportError: If the extra `onnx` is not installed.
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    check_ids_only(model, "export_onnx")
    with replaced_file(path, ".onnx") as draft:
        content = convert_to_onnx(
            model, search, quantize, "export_onnx", as_numbers(outputs)
        )
        write_onnx(draft, content, source_tokenizer, target_tokenizer)
        sources = probe_inputs(model)
        answers = run_onnx(draft, sources)
        exact = quantize is None
        check_answers("ONNX file", model, search, sources, answers, exact)


def convert_to_onnx(
    model: Seq2Seq,
    search: AbstractSearch,
    quantize: str | None,
    needed_by: str,
    outputs: Sequence[str] | None,
) -> Any:
    """Convert a model and its search, from ids to ids.

    Args:
        model: A `Seq2Seq`.
        search: A search strategy.
        quantize: As in `export_onnx`.
        needed_by: The function that exports, as the user typed it.
        outputs: As in `trace_ids`.

    Returns:
        An `onnx.ModelProto` with outputs in this order.
    """
    contexts = exportable_recurrence, onnx_recurrence
    function = trace_ids(model, search, outputs, contexts)
    names = [*function.get_concrete_function().structured_outputs]
    return function_to_onnx(
        function,
        *(SIGNATURE, names, AXES, quantize, needed_by),
        rows_are_many=True,
    )


def function_to_onnx(
    function: tf.types.experimental.PolymorphicFunction,
    name: str,
    outputs: Sequence[str],
    axes: Mapping[str, Sequence[str]],
    quantize: str | None,
    needed_by: str,
    rows_are_many: bool = False,
) -> Any:
    """Convert a traced `tf.function`.

    Args:
        function: The function, which returns a dictionary of tensors.
        name: The name of the graph.
        outputs: The names of its outputs, in the order of the file.
        axes: Names for the open axes of inputs and outputs. Other open axes
            are named after their tensor, with a number.
        quantize: As in `export_onnx`.
        needed_by: The function that exports, as the user typed it.
        rows_are_many: Whether loops multiply several rows at once, such as
            beams. `free_invariants` then makes them faster; with one row it
            makes them slower. Defaults to `False`.

    Returns:
        An `onnx.ModelProto` with outputs in this order.
    """
    tf2onnx = require("tf2onnx", "onnx", needed_by)
    onnx = require("onnx", "onnx", needed_by)
    require("onnxruntime", "onnx", needed_by)
    with quiet():
        content, _ = tf2onnx.convert.from_function(
            function,
            function.input_signature,
            opset=OPSET,
            custom_op_handlers=HANDLERS,
        )
    content.graph.name = name
    _hold_constants(content.graph, function.get_concrete_function(), onnx)
    if rows_are_many:
        free_invariants(content.graph)
    given = sorted(content.graph.output, key=lambda x: outputs.index(x.name))
    del content.graph.output[:]
    content.graph.output.extend(given)
    _name_axes(content.graph, axes)
    share_equal(content.graph)
    if quantize is None:
        return content
    tools = require("onnxruntime.quantization", "onnx", needed_by)
    with quiet(), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "quantized.onnx"
        loops = {"EnableSubgraph": True}
        tools.quantize_dynamic(content, file, extra_options=loops)
        content = onnx.load(file)
    store_in_8_bits(content.graph)
    return content


def _name_axes(graph, axes):
    """Name the open axes of inputs and outputs, which tf2onnx numbers."""
    for x in (*graph.input, *graph.output):
        known = axes.get(x.name, ())
        for i, size in enumerate(x.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                size.dim_param = known[i] if i < len(known) else f"{x.name}_{i}"


def _add_erfc(context, node, name, _):
    _subtract(context, node, name, "Erf", "1-x")


def _add_expm1(context, node, name, _):
    _subtract(context, node, name, "Exp", "x-1")


def _subtract(context, node, name, operation, order):
    """Write an operation that ONNX lacks as a difference from 1."""
    one = context.make_const(f"{name}_one", np.float32(1)).output[0]
    x = context.make_node(operation, node.input).output[0]
    terms = [one, x] if order == "1-x" else [x, one]
    context.remove_node(node.name)
    context.make_node("Sub", terms, outputs=node.output, name=name)


def _select(context, node, name, _):
    """Convert `SelectV2` to one `Where`.

    tf2onnx adds two products, which takes six operations and gives NaN for
    infinity.
    """
    (found,) = node.output
    known = {
        "dtypes": [context.get_dtype(found)],
        "shapes": [context.get_shape(found)],
    }
    context.remove_node(node.name)
    context.make_node("Where", node.input, outputs=[found], name=name, **known)


def _hold_constants(graph, function, onnx):
    """Keep the values of tensors that a function captures."""
    taken = {
        inside.name: outside
        for inside, outside in zip(
            reversed(function.inputs),
            reversed(function.captured_inputs),
            strict=False,
        )
    }
    for x in list(graph.input):
        if x.name in taken:
            value = onnx.numpy_helper.from_array(taken[x.name].numpy(), x.name)
            graph.initializer.append(value)
            graph.input.remove(x)


HANDLERS = {
    # Operations of Keras' `gelu` and `celu`, which tf2onnx does not know.
    "Erfc": (_add_erfc, []),
    "Expm1": (_add_expm1, []),
    "SelectV2": (_select, []),
    **RECURRENCE,
}


def write_onnx(
    file: Path,
    content: Any,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
):
    """Write an `onnx.ModelProto` with tokenizers and checksum as metadata."""
    metadata = {"target_tokenizer": target_tokenizer.to_json()}
    if source_tokenizer is not None:
        metadata["source_tokenizer"] = source_tokenizer.to_json()
    write_sealed(file, content, metadata)


def write_sealed(file: Path, content: Any, metadata: dict[str, str]):
    """Write an `onnx.ModelProto` with metadata that end in a checksum."""
    onnx = require("onnx", "onnx", "write_onnx")
    onnx.helper.set_model_props(content, metadata | {"sha256": SEAL.decode()})
    file.write_bytes(content.SerializeToString())
    seal(file)


def run_onnx(
    file: Path, batches: list[dict[str, np.ndarray]]
) -> list[dict[str, np.ndarray]]:
    """Run batches in order in one session.

    Args:
        file: The ONNX file, which may be damaged.
        batches: The inputs of each run by name.

    Returns:
        The outputs of each run by name.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    onnx = require("onnx", "onnx", "export_onnx")
    runtime = require("onnxruntime", "onnx", "export_onnx")
    try:
        with quiet():
            onnx.checker.check_model(file)
            session = runtime.InferenceSession(file)
            names = [x.name for x in session.get_outputs()]
            found = [session.run(names, batch) for batch in batches]
    except Exception as error:  # of onnx or onnxruntime
        raise RuntimeError(
            "The ONNX file was created, but cannot be run: "
            f"{str(error)[:800]}. Nothing was written. Please report this."
        ) from error
    return [dict(zip(names, answer, strict=True)) for answer in found]


def free_invariants(graph) -> None:
    """Make loops capture values that they carry but never change.

    tf2onnx makes every tensor that a loop reads a loop variable. When it loads
    a file, onnxruntime packs the weights of matrix products, but not loop
    variables, which makes a single text take twice the time.

    Args:
        graph: An ONNX graph. It and its nested graphs are changed in place.
    """
    for node in graph.node:
        for inner in graphs_of(node):
            free_invariants(inner)
    read = set(_names_read(graph))
    for node in graph.node:
        if node.op_type == "Loop":
            _free(node, read)


def _free(loop, read):
    """Free the variables of one loop, except those that are read after it."""
    (body,) = graphs_of(loop)
    given = [x.name for x in body.output]
    outside_names = {}
    for i in reversed(range(len(loop.input) - COUNT_AND_CONDITION)):
        before, after = i + COUNT_AND_CONDITION, i + CONDITION
        inside, outside = body.input[before].name, loop.input[before]
        unchanged = given[after] == inside and given.count(inside) == 1
        if unchanged and loop.output[i] not in read:
            outside_names[inside] = outside
            del body.input[before], body.output[after]
            del loop.input[before], loop.output[i]
    rename(body, outside_names)


def _names_read(graph) -> Iterator[str]:
    """List the names that a graph and its nested graphs read and return."""
    yield from (x.name for x in graph.output)
    for node in graph.node:
        yield from node.input
        for inner in graphs_of(node):
            yield from _names_read(inner)


register_format(
    ExportFormat(
        "onnx",
        export_onnx,
        takes_quantize=True,
        takes_outputs=True,
        suffix=".onnx",
    )
)
