"""The texts of ids, as nodes of ONNX."""

import sys

import numpy as np

from keras_attention.export.onnx_strings import strings
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.cleaning import SURROGATES
from keras_attention.text.tensors import tf

FIRST = len(SPECIAL_NAMES)


def names_of(add, tokenizer, ids, unknown, texts=None):
    """Look up the text of ids `(B, T)`, by default of the vocabulary."""
    texts = tokenizer.vocabulary if texts is None else texts
    names = strings("", tokenizer.unknown_text, "", "", *texts)
    texts = add("Gather", names, ids)
    if unknown is None:
        return texts
    is_known = add("Less", UNKNOWN, ids)
    is_known = add("Or", is_known, add("Equal", unknown, strings("")))
    return add("Where", is_known, texts, unknown)


def spaced(add, ids, words, joins):
    """Join words `(B, T)` by spaces, but before those that `joins` names."""
    joins = add("Or", joins, first_column(add, ids))
    space = add("Where", joins, strings(""), strings(" "))
    return add.joined(add("StringConcat", space, words))


def first_column(add, ids):
    """Say which is the first column of ids `(B, T)`, as `(T,)`."""
    width = add("Squeeze", add("Shape", ids, start=1))
    return add("Equal", add("Range", 0, width, 1), 0)


def all_characters():
    """Return the codes of all characters, and each as a string."""
    codes = np.delete(np.arange(sys.maxunicode + 1, dtype="int32"), SURROGATES)
    return codes, tf.strings.unicode_encode(codes[:, None], "UTF-8")
