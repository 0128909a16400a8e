"""Models of `sentencepiece`, run by its own package."""

from functools import lru_cache

from keras_attention.extras import require
from keras_attention.text.arrays import int32
from keras_attention.text.arrays import int64
from keras_attention.text.arrays.ragged import RaggedTensor
from keras_attention.text.arrays.ragged import from_lists

NEEDED_BY = "SentencePieceTokenizer"


@lru_cache(maxsize=2)  # of source and target
def load_processor(model: bytes):
    """Load a model, or return the one that is loaded.

    Args:
        model: The content of its file, which must be whole.

    Returns:
        A `SentencePieceProcessor`.
    """
    package = require("sentencepiece", "sentencepiece", NEEDED_BY)
    return package.SentencePieceProcessor(model_proto=model)


def find_ids(model: bytes, text) -> RaggedTensor:
    """Find the pieces of strings.

    Args:
        model: The content of a model's file.
        text: An array of strings, `(B,)`.

    Returns:
        The model's ids, ragged int32 `(B, None)`.
    """
    return from_lists(load_processor(model).encode([*text]), int32)


def find_spans(model: bytes, text) -> tuple[RaggedTensor, RaggedTensor]:
    """Find where the pieces of strings begin and end.

    Args:
        model: The content of a model's file.
        text: An array of strings, `(B,)`.

    Returns:
        starts: In bytes of UTF-8, ragged int64 `(B, None)`.
        ends: Likewise.
    """
    forms = require(
        "sentencepiece.sentencepiece_pb2", "sentencepiece", NEEDED_BY
    )
    found = load_processor(model).encode([*text], out_type="serialized_proto")
    rows = [forms.SentencePieceText.FromString(x).pieces for x in found]
    starts = from_lists([[x.begin for x in row] for row in rows], int64)
    return starts, from_lists([[x.end for x in row] for row in rows], int64)
