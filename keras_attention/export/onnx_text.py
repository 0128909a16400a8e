"""Export translators to ONNX, from text to text."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.export.agreement import check_texts
from keras_attention.export.agreement import probe_inputs
from keras_attention.export.agreement import probe_sources
from keras_attention.export.formats import MORE_OUTPUTS
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.formats import with_tokens
from keras_attention.export.ids import as_numbers
from keras_attention.export.ids import check_float32
from keras_attention.export.onnx import AXES
from keras_attention.export.onnx import QUANTIZATIONS
from keras_attention.export.onnx import convert_to_onnx
from keras_attention.export.onnx import write_onnx
from keras_attention.export.onnx_sharing import domains_of
from keras_attention.export.onnx_steps import OnnxText
from keras_attention.export.onnx_steps import read
from keras_attention.export.onnx_steps import write_ids
from keras_attention.export.onnx_strings import EXTENSIONS
from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_strings import strings
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import run_program
from keras_attention.export.saved_model import giving
from keras_attention.export.translation_graph import TranslationGraph
from keras_attention.extras import require
from keras_attention.files import replaced_file
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text import AbstractTokenizer
from keras_attention.text import ParallelTokenizer

OPSETS = {  # 20 is the first with `StringConcat`
    "": 20,
    "ai.onnx.ml": 2,
    "com.microsoft": 1,
    EXTENSIONS: 1,
}
PROBE = ["", 'e\u0301 \t3 b, "c".']  # texts that a file is tried on


def export_onnx_text(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    max_source_length: int | None = None,
    quantize: str | None = None,
    outputs: Sequence[str] | None = OUTPUTS,
) -> None:
    """Export a translator from text to text as an ONNX file.

    The input is `text` string `(B,)` of any size. The outputs are
    `translations` string `(B, N)` and `scores` float32 `(B, N)`. Texts must be
    valid UTF-8; otherwise onnxruntime can raise an error. A model of features
    takes the inputs of `export_onnx`. The metadata are those of
    `export_onnx`.

    Optional outputs are `token_scores` float32 `(B, N, T)`, the log
    probability of each token, together with `target_tokens` string `(B, N,
    T)`; and `attention` float32 `(B, N, T, Tv)`, together with
    `target_tokens` and, for text, `source_tokens` string `(B, Tv)`. Every run
    computes all outputs, even if the program requests only some of them.

    `CharacterTokenizer` and `SymbolTokenizer` run in onnxruntime alone, 1.20
    or newer. As source tokenizers, `WordTokenizer`, `SentencePieceTokenizer`
    and `WordPieceTokenizer` need operations of `onnxruntime-extensions`: pass
    `SessionOptions` to the session after
    `options.register_custom_ops_library(get_library_path())`. The process
    must not load TensorFlow, because these operations fail silently next to
    it.

    Before the file is written, it is run, and its results are compared with
    those of the model.

    Args:
        path: The file to write, `*.onnx`. An existing file is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer; `None` for features.
        target_tokenizer: The target tokenizer.
        search: A search strategy that draws no random numbers.
        max_source_length: Maximum number of source ids, including start and
            end; longer sources are truncated. Defaults to `None`, which means
            no limit.
        quantize: As in `export_onnx`. Defaults to `None`.
        outputs: As in `Translator.export`; `None` for all that the model has.
            Defaults to `("translations", "scores")`.

    Raises:
        ValueError: If `path` or `quantize` is invalid, if the model, the
            search or a tokenizer cannot be exported, or if the model lacks an
            output.
        RuntimeError: If the results of the file differ from the model.
        ImportError: If the extra `onnx` or `onnx_text` is not installed.
    """
    asked = "export_onnx_text"
    check_choice("quantize", quantize, QUANTIZATIONS)
    check_exportable(asked)
    check_float32(model, asked)
    before, after = OnnxStrings("source"), OnnxStrings("target")
    copies, tokenizers = {}, (source_tokenizer, target_tokenizer)
    if source_tokenizer is not None:
        copies = _read(
            before, after, model, source_tokenizer, max_source_length
        )
    _write(after, target_tokenizer, copies.get("tokens"))
    for name in with_tokens(MORE_OUTPUTS if outputs is None else outputs):
        if name.endswith("_tokens"):
            _add_tokens(after, name, tokenizers, copies)
    nodes = [*before.nodes, *after.nodes]
    extensions = EXTENSIONS in domains_of(nodes)
    if extensions:
        require("onnxruntime_extensions", "onnx_text", asked)
    with replaced_file(path, ".onnx") as draft:
        numbers = None if outputs is None else as_numbers(outputs)
        content = convert_to_onnx(model, search, quantize, asked, numbers)
        content = _with_text(content, before.nodes, after.nodes, outputs)
        write_onnx(draft, content, *tokenizers)
        graph = TranslationGraph(model, *tokenizers, search)
        names = [x.name for x in content.graph.output]
        batches, runs = _probes(model, graph, max_source_length)
        given = [x for x in (*OUTPUTS, *MORE_OUTPUTS) if x in names]
        wanted = [giving(given, *runs, *x.values()) for x in batches]
        answers = _run(draft, batches, names, extensions)
        check_texts("ONNX file", wanted, answers, quantize is None)


def _probes(model, graph, longest):
    """Return batches to test a file with, and the expected results."""
    tokenizer = graph.source_tokenizer
    if tokenizer is None:
        runs = graph.translate_source, graph.align_source
        return probe_inputs(model), runs
    sources = [
        tokenizer.detokenize(ids)
        for ids in probe_sources(tokenizer.vocabulary_size)
    ]
    sources.append(tf.constant(PROBE))
    runs = graph.translate_text, graph.align_text
    runs = [partial(run, max_source_length=longest) for run in runs]
    return [{"text": x} for x in sources], runs


def _with_text(content, before, after, outputs):
    """Add text processing around a graph of ids, and name its outputs."""
    onnx = require("onnx", "onnx", "export_onnx_text")
    content = onnx.version_converter.convert_version(content, OPSETS[""])
    known = {x.domain for x in content.opset_import}
    for domain in sorted(domains_of((*before, *after)) - known):
        opset = onnx.helper.make_opsetid(domain, OPSETS[domain])
        content.opset_import.append(opset)
    graph, types = content.graph, onnx.TensorProto
    kinds = {name: types.STRING for x in after for name in x.output}
    kinds |= {x.name: types.FLOAT for x in graph.output}
    asked = kinds.keys() if outputs is None else outputs
    nodes = [*before, *graph.node, *after]
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    make = onnx.helper.make_tensor_value_info
    if before:
        del graph.input[:]
        graph.input.append(make("text", types.STRING, ["batch"]))
    for name in with_tokens(asked):
        if name in kinds:
            graph.output.append(make(name, kinds[name], AXES[name]))
    graph.name = "align" if len(graph.output) > len(OUTPUTS) else "translate"
    return content


def _read(add, after, model, tokenizer, max_length):
    """Convert texts `(B,)` to `source_ids`, and return the words to copy."""
    count, copies = add("Shape", "text"), {}
    text = OnnxText(add, "text")
    found = [read(add, part.steps, text) for part in tokenizer.parts]
    columns = [add.framed(ids, count, max_length) for ids, _ in found]
    if model.source_ids:  # of the first model, if there are several
        size = model.target_vocabulary_size
        ids, words = found[0]
        if words is None:
            raise ValueError(
                "A model that copies needs a `source_tokenizer` that returns "
                "the word of each id in ONNX. Received: "
                f"{type(tokenizer).__name__}. Export from ids to ids with "
                "format='onnx', or use a WordPieceTokenizer."
            )
        words = add.framed_words(words, ids, count, max_length)
        columns[0] = spell(add, columns[0], words, size)
        for name, own in (("source_ids", columns[0]), ("tokens", "tokens")):
            copies[name] = copied(after, own, words, size)
    ids = columns[0]
    if isinstance(tokenizer, ParallelTokenizer):  # (B, T, M)
        shapes = [add("Shape", x) for x in columns]
        widest = add("Max", *shapes)
        for i, shape in enumerate(shapes):
            pads = add("Concat", [0, 0], add("Sub", widest, shape), axis=0)
            columns[i] = add("Unsqueeze", add("Pad", columns[i], pads), [2])
        ids = add("Concat", *columns, axis=2)
    add("Identity", ids, name="source_ids")
    return copies


def _write(add, tokenizer, copies):
    """Convert `tokens (B, N, T)` to texts `(B, N)`, like `detokenize`."""
    found = add("Shape", "scores")
    rows = add("Reshape", add("Size", "scores"), [1])
    shape = add("Concat", rows, add("Shape", "tokens", start=2), axis=0)
    ids = add("Cast", "tokens", to=add.int64)
    ids = add("Reshape", ids, shape, allowzero=1)
    is_end = add("Cast", add("Equal", ids, END), to=add.int64)
    is_open = add("Equal", add("CumSum", is_end, 1), 0)
    is_own = add("Or", add("Less", END, ids), add("Equal", ids, UNKNOWN))
    ids = add.known(ids, tokenizer.vocabulary_size)
    is_real = add("And", is_own, is_open)
    if copies is not None:
        copies = add("Reshape", copies, shape, allowzero=1)
        copies, _ = add.compact(copies, is_real, rows, strings(""))
    ids, _ = add.compact(ids, is_real, rows, [PAD])
    texts = write_ids(add, tokenizer, ids, copies)
    return add("Reshape", texts, found, allowzero=1, name="translations")


def _add_tokens(add, name, tokenizers, copies):
    """Look up the names of ids, like `tokens` of a tokenizer."""
    source, target = tokenizers
    ids, tokenizer = "tokens", target
    if name == "source_tokens":
        ids, tokenizer = "source_ids", source
    if tokenizer is None:
        return
    own = copies.get(ids)
    if isinstance(tokenizer, ParallelTokenizer):  # (B, T, M)
        ids = add("Gather", ids, 0, axis=2)
    known = add.known(ids, tokenizer.vocabulary_size)
    names = strings(*SPECIAL_NAMES, *tokenizer.vocabulary)
    found = over(add, own, add("Gather", names, known))
    add("Identity", found, name=name)


def _run(file, batches, names, extensions):
    """Run batches in a process without TensorFlow, with `run_onnx.py`."""
    arguments = [file, *["onnxruntime_extensions"] * extensions]
    question = json.dumps(
        [
            {name: np.asarray(x).tolist() for name, x in batch.items()}
            for batch in batches
        ],
        default=bytes.decode,
    )
    found = run_program("ONNX file", "run_onnx.py", arguments, question)
    return [
        {
            name: _as_array(value)
            for name, value in zip(names, answer, strict=True)
        }
        for answer in json.loads(found)
    ]


def _as_array(values):
    """Convert nested lists to an array of float32 or of bytes."""
    found = np.array(values)
    if found.dtype.kind == "U":
        return np.char.encode(found).astype(object)
    return found.astype(np.float32)


register_format(
    ExportFormat(
        "onnx_text",
        export_onnx_text,
        options=("max_source_length",),
        takes_quantize=True,
        takes_outputs=True,
        suffix=".onnx",
    )
)
register_format(  # by an old name
    ExportFormat(
        "onnx_align",
        partial(export_onnx_text, outputs=None),
        options=("max_source_length",),
        takes_quantize=True,
        suffix=".onnx",
    )
)


def spell(add: OnnxStrings, ids: str, words: str, size: int) -> str:
    """Give every unknown word of a source its own id.

    Args:
        add: Adds nodes to the graph.
        ids: `(B, T)`.
        words: Strings `(B, T)`, the word of each id.
        size: The vocabulary size `V`.

    Returns:
        `(B, T)` int32: `V + j` for an unknown word that first occurs in
        column `j` of its row.
    """
    same = add(
        "Equal", add("Unsqueeze", words, [2]), add("Unsqueeze", words, [1])
    )
    same = add("Cast", same, to=add.onnx.TensorProto.UINT8)
    edge = add("Concat", add("Shape", words), [1], axis=0)
    behind = add("Expand", np.uint8(0), edge)  # no row is without columns
    same = add("Concat", same, behind, axis=2)
    first = add("ArgMax", same, axis=2, keepdims=0)
    spelled = add("Add", first, size)
    ids = add("Cast", ids, to=add.int64)
    ids = add("Where", add("Equal", ids, UNKNOWN), spelled, ids)
    return add("Cast", ids, to=add.onnx.TensorProto.INT32)


def copied(add: OnnxStrings, ids: str, words: str, size: int) -> str:
    """Look up the source words of ids beyond the vocabulary.

    Args:
        add: Adds nodes to the graph.
        ids: `(B, ...)`.
        words: Strings `(B, Tv)`.
        size: The vocabulary size.

    Returns:
        Strings of the same shape as `ids`, empty for ids of the vocabulary.
    """
    place = add("Sub", add("Cast", ids, to=add.int64), size)
    is_copied = add("LessOrEqual", 0, place)
    place = add("Unsqueeze", add("Max", place, 0), [-1])
    found = add("GatherND", words, place, batch_dims=1)
    return add("Where", is_copied, found, strings(""))


def over(add: OnnxStrings, words: str | None, others: str) -> str:
    """Return each word, or the other word if it is empty or missing."""
    if words is None:
        return others
    return add("Where", add("Equal", words, strings("")), others, words)
