"""normalization: what `unicodedata` gives, for all characters."""

import random
import unicodedata

import pytest
import tensorflow as tf
from tokenizers import strings

from keras_attention.text.normalization import normalizer

pytestmark = pytest.mark.tensorflow

EVERY = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


def some_texts(count):
    """Letters, marks, and parts of Hangul, in any order."""
    draw = random.Random(3)
    letters = [x for x in EVERY if unicodedata.normalize("NFKD", x) != x]
    marks = [x for x in EVERY if unicodedata.combining(x)]
    parts = [{*unicodedata.normalize("NFD", x)} for x in letters]
    parts = sorted(set.union(*parts))
    kinds = (
        letters,
        marks,
        parts,
        parts,
        "aeouAEO",
        [chr(c) for c in range(0x1100, 0x1200)],
    )
    return [
        "".join(
            draw.choice(draw.choice(kinds)) for _ in range(draw.randint(0, 9))
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_character_and_any_marks_are_those_of_unicode(form):
    odd = ["", "\0e\u0301\0", "\u0301", "e" + "\u0316\u0301" * 500]
    composed = [unicodedata.normalize("NFD", x) for x in EVERY if x.isalpha()]
    texts = [*EVERY, *composed, *odd, *some_texts(30_000)]
    found = strings(normalizer(form)(tf.constant(texts)))
    wanted = [unicodedata.normalize(form, text) for text in texts]
    wrong = [x for x, y, z in zip(texts, found, wanted, strict=True) if y != z]
    assert wrong == []


def test_no_texts_are_no_texts():
    assert normalizer("NFC")(tf.constant([], tf.string)).shape == (0,)
    assert strings(normalizer("NFC")(tf.constant(["a"]))) == ["a"]


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_in_a_graph_once(form):
    """However often text is cleaned in it; half a megabyte at most."""
    function = tf.function(lambda x: normalizer(form)(normalizer(form)(x)))
    graph = function.get_concrete_function(tf.TensorSpec((None,), tf.string))
    size = graph.graph.as_graph_def().ByteSize()
    alone = normalizer(form).graph.as_graph_def().ByteSize()
    assert size < alone + 10_000 < 520_000
