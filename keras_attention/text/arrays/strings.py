"""Operations of `tf.strings`, on arrays of Python strings."""

import unicodedata

import numpy as np

from keras_attention.text.arrays.dense import each
from keras_attention.text.arrays.dense import string
from keras_attention.text.arrays.patterns import compiled
from keras_attention.text.arrays.ragged import RaggedTensor
from keras_attention.text.arrays.ragged import from_lists

ASCII_SPACES = " \t\n\v\f\r"


def as_string(x) -> np.ndarray:
    """Write numbers as strings."""
    return np.asarray(x).astype(str).astype(string)


def lower(text, encoding: str) -> np.ndarray:
    """Put text into lower case."""
    return each(str.lower, text)


def normalize(text, form: str) -> np.ndarray:
    """Normalize Unicode, as `tensorflow_text.normalize_utf8` does.

    Args:
        text: Strings of any shape.
        form: `"NFC"` or `"NFKC"`.

    Returns:
        Strings of the same shape.
    """
    return each(lambda x: unicodedata.normalize(form, x), text)


def reduce_join(text, axis: int) -> np.ndarray:
    """Join the strings of an axis."""
    rows = np.moveaxis(text, axis, -1)
    found = ("".join(rows[place]) for place in np.ndindex(rows.shape[:-1]))
    count = int(np.prod(rows.shape[:-1]))
    return np.fromiter(found, string, count).reshape(rows.shape[:-1])


def regex_full_match(text, pattern: str) -> np.ndarray:
    """Return which strings match a pattern of RE2 as a whole."""
    found = each(compiled(pattern).fullmatch, text)
    return found.astype(bool)


def regex_replace(text, pattern: str, rewrite: str) -> np.ndarray:
    """Replace what matches a pattern of RE2, everywhere in the strings."""
    replace = compiled(pattern).sub
    return each(lambda x: replace(rewrite, x), text)


def split(text, sep: str) -> RaggedTensor:
    """Split strings `(B,)` at a separator."""
    return from_lists([x.split(sep) for x in text], string)


def strip(text) -> np.ndarray:
    """Remove white space of ASCII at both ends."""
    text = np.asarray(text, string)
    return each(lambda x: x.strip(ASCII_SPACES), text)


def unicode_split(text, encoding: str) -> RaggedTensor:
    """Split strings `(B,)` into characters."""
    return from_lists([[*x] for x in text], string)


def unicode_transcode(text, *encodings: str) -> np.ndarray:
    """Replace bytes that are not UTF-8 by U+FFFD."""
    return each(_mend, text)


def _mend(text):
    if text.isascii():
        return text
    content = text.encode("utf-8", errors="surrogateescape")
    return content.decode("utf-8", errors="replace")
