"""Unicode normalization with core TensorFlow operations.

`tensorflow_text` has an operation for it, but a SavedModel with this operation
cannot be loaded without that package. The tables are those of Python's
`unicodedata`.
"""

import itertools
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import tensorflow as tf

CHARACTERS = range(0x30000)  # none from here on changes
SURROGATES = range(0xD800, 0xE000)
HANGUL = range(0xAC00, 0xD7A4)
SHIFT = 2**21  # above all characters: makes one number of two of them
COMPOSED = 3  # compositions by which a character is made, at most


@lru_cache
def normalizer(form: str):
    """Return a function that normalizes text.

    Args:
        form: `"NFC"`, `"NFD"`, `"NFKC"` or `"NFKD"`.

    Returns:
        A function from strings `(B,)`, valid UTF-8, to normalized strings. A
        graph contains it and its tables only once.
    """
    composes = form.endswith("C")
    parts, marks, pairs, codes = read_unicode(form)
    pattern = f"(?s).*[{ranges(codes)}].*"
    ends = itertools.accumulate(map(len, parts.values()))
    ends = dict(zip(parts, ends, strict=True))
    flat = [ord(x) for part in parts.values() for x in part]

    def rewrite(text):
        lengths = _table({c: len(x) for c, x in parts.items()})
        joined = _table(pairs, tf.int64) if composes else None
        codes = tf.strings.unicode_decode(text, "UTF-8")
        rows, codes = codes.value_rowids(), codes.flat_values
        # Of all parts, and the characters themselves after them.
        length, end = lengths(codes), _table(ends)(codes)
        own = tf.range(len(flat) + 1, len(flat) + 1 + tf.size(codes))
        end = tf.where(length == 0, own, end)
        length = tf.maximum(length, 1)
        places = tf.ragged.range(end - length, end).flat_values
        codes = tf.gather(tf.concat([flat, codes], 0), places)
        rows = tf.repeat(rows, length)
        codes, kinds = _in_order(codes, _table(marks)(codes), rows)
        for _ in range(COMPOSED if composes else 0):
            codes, kinds, rows = _compose(codes, kinds, rows, joined)
        count = tf.size(text, tf.int64)
        codes = tf.RaggedTensor.from_value_rowids(
            codes, rows, count, validate=False
        )
        return tf.strings.unicode_encode(codes, "UTF-8")

    def normalize(text):
        places = tf.where(tf.strings.regex_full_match(text, pattern))  # (M, 1)

        def rewrite_some():
            some = rewrite(tf.gather(text, places[:, 0]))
            return tf.tensor_scatter_nd_update(text, places, some)

        return tf.cond(tf.size(places) > 0, rewrite_some, lambda: text)

    with tf.init_scope():
        spec = tf.TensorSpec((None,), tf.string)
        function = tf.function(normalize, autograph=False)
        return function.get_concrete_function(spec)


def _table(content, dtype=tf.int32):
    """Return a function of numbers `(N,)` that is 0 except at its keys."""
    keys, values = zip(*sorted(content.items()), strict=True)
    keys, values = tf.constant(keys, dtype), tf.constant(values)

    def look_up(x):
        place = tf.minimum(tf.searchsorted(keys, x), len(content) - 1)
        known = tf.gather(keys, place) == x
        return tf.where(known, tf.gather(values, place), 0)

    return look_up


@lru_cache
def read_unicode(form: str) -> tuple:
    """Return the tables of a normalization form.

    Returns:
        parts: The decomposition of each character.
        marks: The combining class of each mark.
        pairs: The composition of two characters; each pair is one number.
        codes: The characters without which a text does not change, ascending.
    """
    composes = form.endswith("C")
    letters = [chr(c) for c in CHARACTERS if c not in SURROGATES]
    parts = {ord(x): unicodedata.normalize(form[:-1] + "D", x) for x in letters}
    parts = {
        code: part
        for code, part in parts.items()
        if part != chr(code) and not (composes and code in HANGUL)
    }
    marks = {ord(x): unicodedata.combining(x) for x in letters}
    marks = {code: kind for code, kind in marks.items() if kind}
    pairs = {}
    for x in letters if composes else ():
        *first, last = unicodedata.normalize("NFD", x)
        if first and unicodedata.normalize("NFC", x) == x:
            first = unicodedata.normalize("NFC", "".join(first))
            pairs[ord(first) * SHIFT + ord(last)] = ord(x)
    unstable = {ord(x) for x in letters if unicodedata.normalize(form, x) != x}
    codes = sorted({*unstable, *marks, *(pair % SHIFT for pair in pairs)})
    return parts, marks, pairs, codes


def ranges(codes: Iterable[int]) -> str:
    """Write ascending code points as in an RE2 character class."""
    runs = itertools.groupby(enumerate(codes), lambda x: x[1] - x[0])
    runs = ([code for _, code in run] for _, run in runs)
    return "".join(f"\\x{{{x[0]:x}}}-\\x{{{x[-1]:x}}}" for x in runs)


def _in_order(codes, kinds, rows):
    """Sort the marks after a character by combining class."""
    begins = (kinds == 0) | (rows != _before(rows, -1))
    group = tf.cumsum(tf.cast(begins, tf.int64))
    order = tf.argsort(group * 256 + tf.cast(kinds, tf.int64), stable=True)
    return tf.gather(codes, order), tf.gather(kinds, order)


def _compose(codes, kinds, rows, pairs):
    """Compose each character with the first mark that it can combine with.

    Another mark of the same class between them blocks a mark. Any character
    between them blocks a character that is not a mark.
    """
    base = kinds == 0
    bases = tf.concat([[0], tf.cast(tf.where(base)[:, 0], tf.int32)], 0)
    before = tf.cumsum(tf.cast(base, tf.int32), exclusive=True)
    first = tf.gather(bases, before)  # the last base before each character
    place = tf.range(tf.size(codes))
    between = _before(kinds, 0)
    free = (first == place - 1) | ((0 < between) & (between < kinds))
    free &= (before > 0) & (tf.gather(rows, first) == rows)
    pair = tf.cast(tf.gather(codes, first), tf.int64) * SHIFT
    found = pairs(pair + tf.cast(codes, tf.int64))
    second = tf.where(free & (found > 0))[:, 0]
    first = tf.gather(first, second)
    new = first != _before(first, -1)
    first, second = first[new], second[new]
    found = tf.gather(found, second)
    codes = tf.tensor_scatter_nd_update(codes, first[:, None], found)
    kept = tf.tensor_scatter_nd_update(
        place >= 0, second[:, None], tf.zeros_like(found, tf.bool)
    )
    return tuple(tf.boolean_mask(x, kept) for x in (codes, kinds, rows))


def _before(x, first):
    """Shift numbers `(N,)` to the next position."""
    return tf.pad(x, [[1, 0]], constant_values=first)[:-1]
