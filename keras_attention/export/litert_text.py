"""A translator as one LiteRT file from text to text."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.export.agreement import check_texts
from keras_attention.export.agreement import probe_sources
from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.ids import check_ids_only
from keras_attention.export.ids import trace_ids
from keras_attention.export.litert import QUANTIZATIONS
from keras_attention.export.litert import convert_to_litert
from keras_attention.export.litert import run_litert
from keras_attention.extras import require
from keras_attention.files import replaced_file
from keras_attention.files import seal
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer
from keras_attention.translation.graph import TEXT

SIGNATURE = "translate"
OPERATIONS = "tensorflow_text:tflite_registrar.SELECT_TFTEXT_OPS"


def export_litert_text(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    quantize: str | None = None,
) -> None:
    """Write text to text as a LiteRT file, read it back and run it.

    Its signature is `translate(text string (B,)) -> translations string
    (B, N), scores float32 (B, N)`, for at least one text. The pieces of words
    need operations of `tensorflow_text`: to run the file, use
    `ai_edge_litert.interpreter.InterpreterWithCustomOps` with
    `tensorflow_text.tflite_registrar.SELECT_TFTEXT_OPS`. For an app without
    such operations use `export_litert`, and tokenize in the app. The last 64
    bytes of the file are the SHA-256 of all before them.

    The results of the file are compared with those of the model. A quantized
    file may have other results, so only their shapes and types are compared.

    Args:
        path: The file to write, `*.tflite`. One that is there is replaced.
        model: A `Seq2Seq`.
        source_tokenizer: Its source's tokenizer, a `WordPieceTokenizer`.
        target_tokenizer: Its target's tokenizer, likewise.
        search: A search strategy that draws no random numbers.
        quantize: As in `export_litert`. Defaults to `None`.

    Raises:
        ValueError: If `path` or `quantize` has a wrong value, or if the
            model, the search or a tokenizer cannot be exported.
        RuntimeError: If the file does not give what the model gives.
        ImportError: If the extra `litert` or `text` is not installed.
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    require("ai_edge_litert.interpreter", "litert", "export_litert_text")
    require("tensorflow_text", "text", "export_litert_text")
    check_ids_only(model, "export_litert_text")
    tokenizers = source_tokenizer, target_tokenizer
    _check_tokenizers(*tokenizers)
    with replaced_file(path, ".tflite") as draft:
        function = _trace_text(trace_ids(model, search), *tokenizers)
        content = convert_to_litert(
            model, {SIGNATURE: function}, quantize, tokenizers
        )
        draft.write_bytes(content)
        seal(draft)
        sources = [
            source_tokenizer.detokenize(ids).numpy()
            for ids in probe_sources(source_tokenizer.vocabulary_size)
        ]
        sources.append(np.array([b""], object))
        batches = [{"text": text} for text in sources]
        answers = run_litert(draft, SIGNATURE, batches, OPERATIONS)
        wanted = _trace_text(
            lambda ids: _found(model, search, ids), *tokenizers
        )
        check_texts(
            "LiteRT file", map(wanted, sources), answers, quantize is None
        )


def _found(model, search, ids):
    found = model.generate(ids, search)
    return {"tokens": found.tokens, "scores": found.scores}


def _check_tokenizers(source_tokenizer, target_tokenizer):
    for side, tokenizer in (
        ("source", source_tokenizer),
        ("target", target_tokenizer),
    ):
        if not hasattr(tokenizer, "litert_tokenize"):
            raise ValueError(
                f"`{side}_tokenizer` must be a WordPieceTokenizer, the one "
                "that LiteRT has the operations for. Received: "
                f"{type(tokenizer).__name__}. Export ids to ids, with "
                "format='litert', and tokenize outside of the file."
            )


def _trace_text(translate_ids, source_tokenizer, target_tokenizer):
    """Tokenize before a function of ids, and detokenize after it."""

    def translate(text):
        found = translate_ids(source_tokenizer.litert_tokenize(text))
        tokens, scores = found["tokens"], found["scores"]
        rows = tf.reshape(tokens, (-1, tokens.shape[-1]))
        texts = target_tokenizer.litert_detokenize(rows)
        texts = tf.reshape(texts, tf.shape(scores))
        return {
            "translations": texts,
            "scores": tf.cast(scores, tf.float32),
        }

    function = tf.function(translate, [TEXT], autograph=False)
    function.get_concrete_function()
    return function


register_format(
    ExportFormat(
        "litert_text",
        export_litert_text,
        takes_quantize=True,
        suffix=".tflite",
    )
)
