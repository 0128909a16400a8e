"""Operations on arrays: what TensorFlow gives."""

import unicodedata

import keras
import numpy as np
import pytest

from keras_attention.text import arrays

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import tensorflow_text


def left_out(ragged, rows):
    return ragged.boolean_mask(rows, rows != "")


NUMBERS = [[3, 1, 4], [], [1, 5]]
IDS = np.array([[3, 0, 2], [1, 1, 0]], "int32")
WORDS = np.array([["a", "", "ä"], ["b", "a", ""]], object)
TEXT = np.array(["Ein  Hund\n", "", " \tÄß ﬁ ① \v", "ΑΣ İ\x85"], object)
ROWS = [["a", ""], [], ["ä", " "]]
CHARACTERS = [chr(i) for i in range(1, 0x3000)]
CASES = {
    "boolean_mask": lambda ops: ops.boolean_mask(WORDS, IDS > 0),
    "cast": lambda ops: ops.cast(IDS > 1, ops.int32),
    "constant": lambda ops: ops.constant(["a", b"\xc3\xa4"], ops.string, (2,)),
    "empty": lambda ops: ops.constant([], ops.string),
    "gather": lambda ops: ops.gather(ops.constant([*"wxyz"]), IDS),
    "gather in rows": lambda ops: ops.gather(
        ops.constant(WORDS), np.minimum(IDS, 2), batch_dims=1
    ),
    "gather deep": lambda ops: ops.gather(
        ops.constant(WORDS), np.minimum(IDS, 2)[:, None], batch_dims=1
    ),
    "pad": lambda ops: ops.pad(IDS, [[0, 0], [1, 2]]),
    "pad flags": lambda ops: ops.pad(
        IDS > 1, [[0, 0], [1, 0]], constant_values=True
    ),
    "pad strings": lambda ops: ops.pad(WORDS, [[0, 1], [1, 0]]),
    "shape": lambda ops: ops.shape(IDS),
    "where": lambda ops: ops.where(IDS > 1, 7, IDS),
    "where strings": lambda ops: ops.where(IDS > 1, "", WORDS),
    "where two strings": lambda ops: ops.where(IDS > 1, "", " ") + WORDS,
    "segments": lambda ops: ops.math.unsorted_segment_min(
        np.array([4, 2, 7, 1]), np.array([1, 0, 1, 0]), 2
    ),
    "top_k": lambda ops: ops.math.top_k(
        np.array([[[1, 3, 3], [0, 0, 0]]], "float32")
    )[1],
    "join": lambda ops: ops.strings.reduce_join(WORDS, axis=1),
    "join nothing": lambda ops: ops.strings.reduce_join(WORDS[:, :0], axis=-1),
    "as_string": lambda ops: ops.strings.as_string(np.arange(3)),
    "lower": lambda ops: ops.strings.lower(TEXT, encoding="utf-8"),
    "match": lambda ops: ops.strings.regex_full_match(TEXT, r"(?s).*[\s].*"),
    "replace": lambda ops: ops.strings.regex_replace(
        TEXT, r"([\pL])|\s", r"<\1>"
    ),
    "strip": lambda ops: ops.strings.strip(TEXT),
    "transcode": lambda ops: ops.strings.unicode_transcode(
        ops.constant([b"a\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"]),
        "UTF-8",
        "UTF-8",
    ),
}
RAGGED = {
    "split": lambda ops: ops.strings.split(TEXT, "\n"),
    "split at spaces": lambda ops: ops.strings.split(TEXT),
    "characters": lambda ops: ops.strings.unicode_split(TEXT, "UTF-8"),
    "left out": lambda ops: ops.ragged.boolean_mask(WORDS, WORDS != ""),
    "left out of rows": lambda ops: left_out(
        ops.ragged, ops.ragged.constant(ROWS, ops.string)
    ),
    "joined": lambda ops: ops.concat(
        [ops.ragged.constant(x, ops.string) for x in (ROWS, [["b"]] * 3)],
        axis=1,
    ),
    "mapped": lambda ops: ops.ragged.map_flat_values(
        ops.strings.strip, ops.ragged.constant(ROWS, ops.string)
    ),
    "nothing": lambda ops: ops.ragged.constant([[]], ops.string),
}
PATTERNS = [
    *(r"\pL", r"[^\pL]", r"[\pM\p{Cf}_]", r"[-\pN]", r"\s", r"[\s\pZ\x{85}]"),
    *(r"\[|\.|\$", r"[$]", r"(?i:[ks])"),
]


def decoded(tensor):
    flat = tensor.numpy().ravel().tolist()
    return [x.decode() if isinstance(x, bytes) else x for x in flat]


@pytest.mark.parametrize("call", CASES.values(), ids=CASES)
def test_gives_what_tensorflow_gives(call):
    found, wanted = np.asarray(call(arrays)), call(tf)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.numpy().dtype.kind
    assert found.ravel().tolist() == decoded(wanted)


@pytest.mark.parametrize("call", RAGGED.values(), ids=RAGGED)
def test_rows_are_those_of_tensorflow(call):
    found, wanted = call(arrays), call(tf)
    lengths = wanted.row_lengths().numpy().tolist()
    assert found.row_lengths().tolist() == lengths
    assert found.flat_values.tolist() == decoded(wanted.flat_values)


@pytest.mark.parametrize("shape", [None, (-1, 2), (-1, 5), (-1, 0)])
def test_rows_are_padded_and_cut(shape):
    found = arrays.ragged.constant(NUMBERS, "int32").to_tensor(shape=shape)
    wanted = tf.ragged.constant(NUMBERS, tf.int32)
    wanted = wanted.to_tensor(shape=None if shape is None else tf.stack(shape))
    np.testing.assert_array_equal(found, wanted.numpy())
    words = arrays.ragged.constant(ROWS, object).to_tensor(shape=shape)
    assert words.dtype == object
    assert set(words.ravel().tolist()) <= {"a", "", "ä", " "}


def test_functions_convert_what_they_are_told_to():
    spec = arrays.TensorSpec((None,), arrays.string, name="text")
    join = arrays.function(lambda x, *rest: (x, rest), [spec], autograph=False)
    text, rest = join([b"a", "b"], b"c")
    assert text.tolist() == ["a", "b"]
    assert rest == (b"c",)


def test_bytes_are_kept_whatever_they_are():
    found = arrays.constant([b"\xff\xe4a"], arrays.string)[0]
    assert found.encode("utf-8", "surrogateescape") == b"\xff\xe4a"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normalizes_as_tensorflow_normalizes(form):
    wanted = tensorflow_text.normalize_utf8(TEXT, form)
    found = arrays.strings.normalize(TEXT, form)
    assert found.tolist() == decoded(wanted)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_characters_match(pattern):
    """Of those that this Python knows, which may be fewer."""
    wanted = tf.strings.regex_full_match(CHARACTERS, pattern).numpy()
    known = [unicodedata.category(c) != "Cn" for c in CHARACTERS]
    found = [
        arrays.strings.compiled(pattern).fullmatch(c) is not None
        for c in CHARACTERS
    ]
    pairs = zip(CHARACTERS, found, wanted, known, strict=True)
    assert [c for c, x, y, k in pairs if k and x != y] == []


@pytest.mark.parametrize("pattern", [r"a$", r"(?m)a$", r"(?m)^a", r"^a"])
def test_ends_are_those_of_re2(pattern):
    for text in ("a", "a\n", "b\na", "a\nb"):
        wanted = tf.strings.regex_replace(text, pattern, "x").numpy()
        assert (
            arrays.strings.compiled(pattern).sub("x", text) == wanted.decode()
        )
