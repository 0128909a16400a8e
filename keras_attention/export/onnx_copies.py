"""Words that a model copies, as nodes of ONNX: what `text/copies.py` does."""

import numpy as np

from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_strings import strings
from keras_attention.steps.primitives import UNKNOWN


def spell(add: OnnxStrings, ids: str, words: str, size: int) -> str:
    """Give every unknown word of a source an id of its own.

    Args:
        add: Where nodes are added.
        ids: `(B, T)`.
        words: Strings `(B, T)`, the word behind each id.
        size: The number `V` of ids in the vocabulary.

    Returns:
        `(B, T)` int32: `V + j` for an unknown word that first appears in
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
    """Look up the source's words behind ids beyond the vocabulary.

    Args:
        add: Where nodes are added.
        ids: `(B, ...)`.
        words: Strings `(B, Tv)`.
        size: The number of ids in the vocabulary.

    Returns:
        Strings of the shape of `ids`, empty for ids of the vocabulary.
    """
    place = add("Sub", add("Cast", ids, to=add.int64), size)
    is_copied = add("LessOrEqual", 0, place)
    place = add("Unsqueeze", add("Max", place, 0), [-1])
    found = add("GatherND", words, place, batch_dims=1)
    return add("Where", is_copied, found, strings(""))


def over(add: OnnxStrings, words: str | None, others: str) -> str:
    """Take each word, or where it is empty or there is none the other one."""
    if words is None:
        return others
    return add("Where", add("Equal", words, strings("")), others, words)
