"""A translator as an ONNX file, for onnxruntime: from ids to ids."""

from pathlib import Path

from keras_attention.export.agreement import check_answers
from keras_attention.export.agreement import probe_sources
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.ids import IDS
from keras_attention.export.ids import SIGNATURE
from keras_attention.export.ids import check_ids_only
from keras_attention.export.ids import trace_ids
from keras_attention.export.onnx_loops import free_invariants
from keras_attention.export.quiet import quiet
from keras_attention.extras import require
from keras_attention.files import SEAL
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer

OPSET = 18
OUTPUTS = ("tokens", "scores")  # in this order


def export_onnx(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
) -> None:
    """Write ids to ids as an ONNX file, read it back and run it.

    It takes `source_ids` int32 `(B, T)`, of any size, and gives `tokens`
    int32 `(B, N, T')` and `scores` float32 `(B, N)`. Ids are framed and
    padded as `source_tokenizer` gives them. Both tokenizers are in the file's
    metadata, `source_tokenizer` and `target_tokenizer`, in JSON. The last 64
    bytes of the file, `sha256` of the metadata, are the SHA-256 of all before
    them.

    Args:
        path: The file to write, `*.onnx`. One that is there is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: Its source's tokenizer.
        target_tokenizer: Its target's tokenizer.
        search: A search strategy that draws no random numbers.

    Raises:
        ValueError: If `path` has a wrong value, or if the model or the search
            cannot be exported.
        RuntimeError: If the file does not give what the model gives.
        ImportError: If the extra `onnx` is not installed.
    """
    tf2onnx = require("tf2onnx", "onnx", "export_onnx")
    onnx = require("onnx", "onnx", "export_onnx")
    runtime = require("onnxruntime", "onnx", "export_onnx")
    check_ids_only(model, "export_onnx")
    with replaced_file(path, ".onnx") as draft:
        function = trace_ids(model, search)
        with quiet():
            content, _ = tf2onnx.convert.from_function(
                function, [IDS], opset=OPSET
            )
        content.graph.name = SIGNATURE
        free_invariants(content.graph)
        outputs = sorted(
            content.graph.output, key=lambda x: OUTPUTS.index(x.name)
        )
        del content.graph.output[:]
        content.graph.output.extend(outputs)
        metadata = {
            "source_tokenizer": source_tokenizer.to_json(),
            "target_tokenizer": target_tokenizer.to_json(),
            "sha256": SEAL.decode(),  # metadata are last in the file
        }
        onnx.helper.set_model_props(content, metadata)
        draft.write_bytes(content.SerializeToString())
        seal(draft)
        sources = probe_sources(model.source_vocabulary_size)
        answers = _run(onnx, runtime, draft, sources)
        check_answers(
            "ONNX file",
            model,
            search,
            sources,
            answers,
        )


def _run(onnx, runtime, file, sources):
    """Run every batch; the file may be damaged."""
    try:
        with quiet():
            onnx.checker.check_model(file)
            session = runtime.InferenceSession(file)
            found = [session.run(None, {"source_ids": ids}) for ids in sources]
    except Exception as error:  # of onnx or onnxruntime
        raise RuntimeError(
            "The ONNX file was made, but cannot be run: "
            f"{str(error)[:800]}. Nothing was written. Please report this."
        ) from error
    return [dict(zip(OUTPUTS, answer, strict=True)) for answer in found]


register_format(ExportFormat("onnx", export_onnx, suffix=".onnx"))
