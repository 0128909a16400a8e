"""Patterns of RE2: `re` matches the same characters."""

import re
import unicodedata

import pytest

from keras_attention.text.arrays.patterns import compiled

tf = pytest.importorskip("tensorflow")
CHARACTERS = [chr(i) for i in range(1, 0x3000)]
PATTERNS = [
    *(r"\pL", r"[^\pL]", r"[\pM\p{Cf}_]", r"[-\pN]", r"\s", r"[\s\pZ\x{85}]"),
    *(r"\[|\.|\$", r"[$]", r"(?i:[ks])"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_characters_match(pattern):
    """Of those that this Python knows, which may be fewer."""
    wanted = tf.strings.regex_full_match(CHARACTERS, pattern).numpy()
    known = [unicodedata.category(c) != "Cn" for c in CHARACTERS]
    found = [compiled(pattern).fullmatch(c) is not None for c in CHARACTERS]
    pairs = zip(CHARACTERS, found, wanted, known, strict=True)
    assert [c for c, x, y, k in pairs if k and x != y] == []


@pytest.mark.parametrize("pattern", [r"a$", r"(?m)a$", r"(?m)^a", r"^a"])
def test_ends_are_those_of_re2(pattern):
    for text in ("a", "a\n", "b\na", "a\nb"):
        wanted = tf.strings.regex_replace(text, pattern, "x").numpy()
        assert compiled(pattern).sub("x", text) == wanted.decode()


def test_a_broken_pattern_is_an_error():
    with pytest.raises(re.error):
        compiled("[")
