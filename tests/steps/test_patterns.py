"""Patterns of RE2 in Python: what TensorFlow and ONNX find, they find."""

import hostile
import pytest
import tensorflow as tf

from keras_attention.steps.patterns import compiled
from keras_attention.steps.patterns import replacer
from keras_attention.steps.patterns import spelled

TEXTS = [
    *(
        "",
        " ",
        "a b  c",
        "don\u2019t 12 ١٢ \uff13 x1",
        "naïve_word-x",
        "aab axb xx",
    ),
    *(
        "a\nb\r\nc",
        "x\ta\n",
        "a\\b\\1/",
        "[a]{b}(c) $5 ^}",
        "\u017fK k K ß",
        "\u03b1\u0392",
    ),
    *(
        "\u2028x\u00a0y\u0085z\u000bw",
        "😀👍🏽 \u2018a\u2019",
        "\x01\x7f~`@",
        "A.B,C;D --",
    ),
]
TEXTS += [
    x.decode("utf-8", errors="replace").replace("\0", "")
    for x in hostile.hostile_texts(60, TEXTS[2:], seed=3)
]
RULES = [
    *[(x, "<>") for x in (r"\d+", r"\D", r"\w+", r"\W", r"\s", r"\S+", r"\bx")],
    *[(x, "<>") for x in (r"[\d]", r"[^\s-]", r"[\W\d]+", r"a\b", r"\v|\t|\a")],
    *[(x, "<>") for x in (r"\x{2019}", r"[\x{2018}-\x{201f}]", r"\x{1F600}")],
    *[(x, "<>") for x in (r"\x41", r"\101", r"[\x01-\x1f]", r"\.|\$|\}+")],
    *[(x, "<>") for x in (r"\pN+", r"\p{Lu}", r"\PN", r"[^\PN1]", r"\p{^Lu}+")],
    *[(x, "<>") for x in (r"[[:alpha:]]+", r"[[:^punct:]a]", r"[][:digit:]]")],
    *[(x, "<>") for x in (r"[]a]", r"[^]a]", r"[[a]", r"[a&&b~~]", r"[.$]")],
    *[(x, "<>") for x in (r"x*", r"-*", r"b*$", r"^", r"$", r"|a", r"(?:)")],
    *[(x, "<>") for x in (r"(?m)^", r"(?m)$", r"(?im)^A|b$", r"(?s).", r"a\z")],
    *[(x, "<>") for x in (r"(?i)K", r"(?i:[a-c])", r"\b", r"(?P<n>a)", r"\A.")],
    *[(r"(a)(b)?", x) for x in (r"[\2\1]", r"\0\0", r"\\\1", r"\\1", "\\\\")],
]


@pytest.mark.parametrize(("pattern", "rewrite"), RULES)
def test_matches_are_those_of_re2(pattern, rewrite):
    wanted = tf.strings.regex_replace(TEXTS, pattern, rewrite).numpy()
    replace = replacer(pattern, rewrite)
    assert [replace(x).encode() for x in TEXTS] == wanted.tolist()
    if r"\p" in pattern.lower():
        found = tf.strings.regex_replace(TEXTS, spelled(pattern), rewrite)
        assert found.numpy().tolist() == wanted.tolist()


def test_no_letter_is_outside_of_words_in_any_case():
    """The long s and the sign of Kelvin are s and k in upper or lower case."""
    text = "sk\u017f\u212a-"
    assert replacer(r"(?i)\W", "<>")(text) == "sk\u017f\u212a<>"
    found = tf.strings.regex_replace(text, r"(?i)\W", "<>")
    assert found.numpy().decode() == "sk\u017f\u212a<>"


@pytest.mark.parametrize(
    "wrong",
    [
        *(r"a(?=b)", r"(?<!a)b", r"(a)\1", r"(?P<n>a)(?P=n)", r"\p{Greek}"),
        *(r"\pL\P{Nope}", r"a++", r"a{2}+", r"a{,2}", r"\Qa.b\E", r"a\Z"),
        *(r"\u2019", r"\B", r"[[:letters:]]", r"a(?i)b", r"a(?m:$)", r"(?x)a"),
        *("(a", "[b", "*", "(?>a)", "(?#a)"),
    ],
)
def test_what_one_of_the_two_does_not_know_is_refused(wrong):
    with pytest.raises(ValueError, match=r"A step needs .*patterns.* Received"):
        compiled(wrong)


@pytest.mark.parametrize("wrong", [r"\2", r"a\n", "a\\", r"\g<1>"])
def test_a_rewrite_of_what_is_not_there_is_refused(wrong):
    with pytest.raises(ValueError, match=r"Received: .* with 1 groups"):
        replacer("(a)", wrong)
