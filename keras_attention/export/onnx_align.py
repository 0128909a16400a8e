"""A translator as one ONNX file that says where each token looked."""

from pathlib import Path

from keras_attention.export.formats import ExportFormat
from keras_attention.export.formats import register_format
from keras_attention.export.ids import OUTPUTS
from keras_attention.export.onnx_copies import over
from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_strings import strings
from keras_attention.export.onnx_text import Signature
from keras_attention.export.onnx_text import export_signature
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import ParallelTokenizer
from keras_attention.text.base import SPECIAL_NAMES


def export_onnx_align(
    path: str | Path,
    model: Seq2Seq,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
    max_source_length: int | None = None,
    quantize: str | None = None,
) -> None:
    """Write text to text and attention as an ONNX file, and run it.

    It gives what `export_onnx_text` gives, then `source_tokens` string `(B,
    Tv)`, `target_tokens` string `(B, N, T)`, `token_scores` float32 `(B, N,
    T)`, the log probability of each token, and, if the model attends,
    `attention` float32 `(B, N, T, Tv)`: the outputs of a SavedModel's `align`.
    All are computed in every run, whichever the program asks for.

    Args:
        path: As of `export_onnx_text`, and so is the rest.
        model: A `Seq2Seq`.
        source_tokenizer: Its source's tokenizer.
        target_tokenizer: Its target's tokenizer.
        search: A search strategy that draws no random numbers.
        max_source_length: The most ids of a source, start and end included.
        quantize: As of `export_onnx`. Defaults to `None`.

    Raises:
        ValueError: As of `export_onnx_text`, and so are the others.
        RuntimeError: If the file does not give what the model gives.
        ImportError: If the extra `onnx` or `onnx_text` is not installed.
    """
    parts = model, source_tokenizer, target_tokenizer, search
    export_signature(ALIGN, path, *parts, max_source_length, quantize)


def _add_tokens(add: OnnxStrings, tokenizers, copies):
    """Look up the names of ids, as `tokens` of a tokenizer does."""
    for side, ids, tokenizer in zip(
        ("source", "target"), ("source_ids", "tokens"), tokenizers, strict=True
    ):
        own = copies.get(ids)
        if isinstance(tokenizer, ParallelTokenizer):  # (B, T, M)
            ids = add("Gather", ids, 0, axis=2)
        known = add.known(ids, tokenizer.vocabulary_size)
        names = strings(*SPECIAL_NAMES, *tokenizer.vocabulary)
        found = over(add, own, add("Gather", names, known))
        add("Identity", found, name=f"{side}_tokens")


ALIGN = Signature("align", (*OUTPUTS, "token_scores", "attention"), _add_tokens)
register_format(
    ExportFormat(
        "onnx_align",
        export_onnx_align,
        options=("max_source_length",),
        takes_quantize=True,
        suffix=".onnx",
    )
)
