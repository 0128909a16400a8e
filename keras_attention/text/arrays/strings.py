"""Operations of `tf.strings`, on arrays of Python strings."""

import itertools
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from keras_attention.text.arrays import ragged
from keras_attention.text.arrays.ragged import RaggedTensor

string = np.dtype(object)
ASCII_SPACES = " \t\n\v\f\r"
RE2_SPACES = r" \t\n\f\r"
# What differs from `re`: `\pL`, `\p{Cf}`, `\x{85}`, `\s`, and a final `$`.
DIFFERENT = re.compile(
    r"\\p(?P<one>\w)|\\p\{(?P<name>\w+)\}|\\x\{(?P<code>\w+)\}|(?P<space>\\s)"
    r"|(?P<other>\\.)|(?P<open>\[)|(?P<close>\])|(?P<end>\$)",
    re.DOTALL,
)


def each(call: Callable, array: np.ndarray) -> np.ndarray:
    """Call a function for each string of an array.

    Args:
        call: The function, from a string to a string.
        array: The strings.

    Returns:
        The results, in an array of the same shape.
    """
    found = np.fromiter(map(call, array.flat), string, array.size)
    return found.reshape(array.shape)


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
        form: `"NFC"`, `"NFD"`, `"NFKC"` or `"NFKD"`.

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


def split(text, sep: str = "") -> RaggedTensor:
    """Split strings `(B,)` at a separator, or at white space of ASCII."""
    if not sep:
        words = re.compile(f"[^{ASCII_SPACES}]+")
        return ragged.constant([words.findall(x) for x in text], string)
    return ragged.constant([x.split(sep) for x in text], string)


def strip(text) -> np.ndarray:
    """Remove white space of ASCII at both ends."""
    text = np.asarray(text, string)
    return each(lambda x: x.strip(ASCII_SPACES), text)


def unicode_split(text, encoding: str) -> RaggedTensor:
    """Split strings `(B,)` into characters."""
    return ragged.constant([[*x] for x in text], string)


def unicode_transcode(text, *encodings: str) -> np.ndarray:
    """Replace bytes that are not UTF-8 by U+FFFD."""
    return each(_mend, text)


def _mend(text):
    if text.isascii():
        return text
    content = text.encode("utf-8", errors="surrogateescape")
    return content.decode("utf-8", errors="replace")


# Regular expressions of RE2, as Python's `re` reads them.


@lru_cache
def compiled(pattern: str) -> re.Pattern:
    r"""Compile a pattern of RE2 for Python.

    Classes such as `\pL` are written out. `\s` is white space of ASCII, and
    `$` the end of the text, unless the pattern begins with `(?m)`.

    Args:
        pattern: The pattern, without other differences.

    Returns:
        The compiled pattern.
    """
    inside = False
    of_lines = pattern.startswith("(?m)")

    def translate(match):
        nonlocal inside
        kind, found = match.lastgroup, match.group()
        if kind in ("open", "close"):
            inside = kind == "open"
        elif kind == "end":
            return found if inside or of_lines else r"\Z"
        elif kind == "code":
            return f"\\x{int(match['code'], 16):02x}"
        elif kind in ("one", "name", "space"):
            name = match[kind]
            codes = RE2_SPACES if kind == "space" else _category(name)
            return codes if inside else f"[{codes}]"
        return found

    return re.compile(DIFFERENT.sub(translate, pattern))


@lru_cache
def _category(name):
    """List the characters of a category of Unicode, as in a class of `re`."""
    codes = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith(name)
    ]
    parts = []
    for _, run in itertools.groupby(enumerate(codes), lambda x: x[1] - x[0]):
        run = [code for _, code in run]
        parts.append(f"\\U{run[0]:08x}-\\U{run[-1]:08x}")
    return "".join(parts)
