"""Operations on arrays: what TensorFlow gives."""

import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.text import arrays

IDS = np.array([[3, 0, 2], [1, 1, 0]], "int32")
WORDS = np.array([["a", "", "ä"], ["b", "a", ""]], object)
PLACES = np.minimum(IDS, 2)
TEXT = np.array(["Ein  Hund\n", "", " \tÄß ﬁ ① \v", "ΑΣ İ\x85"], object)
CHARACTERS = [chr(i) for i in range(1, 0x3000)]
CASES = [  # beside those that tokenizers use, which `test_tensors.py` runs
    lambda ops: ops.gather(ops.constant(WORDS), PLACES, batch_dims=1),
    lambda ops: ops.gather(ops.constant(WORDS), PLACES[:, None], batch_dims=1),
    lambda ops: ops.math.unsorted_segment_min(
        np.array([4, 2, 7, 1]), np.array([1, 0, 1, 0]), 2
    ),
    lambda ops: ops.argmax(np.array([[1, 3, 3], [0, 0, 0]], "f4"), axis=-1),
    lambda ops: ops.where(IDS > 0, IDS, 1),
    lambda ops: ops.strings.as_string(np.arange(3)),
    lambda ops: ops.strings.regex_full_match(TEXT, r"(?s).*[\s].*"),
    lambda ops: ops.strings.regex_replace(TEXT, r"([\pL])|\s", r"<\1>"),
]
PATTERNS = [
    *(r"\pL", r"[^\pL]", r"[\pM\p{Cf}_]", r"[-\pN]", r"\s", r"[\s\pZ\x{85}]"),
    *(r"\[|\.|\$", r"[$]", r"(?i:[ks])"),
]


def decoded(tensor):
    flat = tensor.numpy().ravel().tolist()
    return [x.decode() if isinstance(x, bytes) else x for x in flat]


@pytest.mark.parametrize("call", CASES)
def test_gives_what_tensorflow_gives(call):
    found, wanted = np.asarray(call(arrays)), call(tf)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.numpy().dtype.kind
    assert found.ravel().tolist() == decoded(wanted)


def test_functions_convert_what_they_are_told_to():
    spec = arrays.TensorSpec((None,), arrays.string, name="text")
    join = arrays.function(lambda x, *rest: (x, rest), [spec], autograph=False)
    text, rest = join([b"a", "b"], b"c")
    assert text.tolist() == ["a", "b"]
    assert rest == (b"c",)


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
