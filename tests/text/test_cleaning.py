import random
import time
import unicodedata

import pytest
import tensorflow as tf
from hostile import hostile_texts
from tiers import SLOW
from tiers import some
from tokenizers import KINDS
from tokenizers import strings
from tokenizers import train

from keras_attention.export.tensor_unicode import normalizer
from keras_attention.steps.primitives import Normalize
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text import as_texts

EXACT = SymbolTokenizer, WordPieceTokenizer
NORMALIZING = [kind for kind in KINDS if kind not in EXACT]
FORMS = {
    "identity": "ﬁne Cafe\u0301 한",
    "nfc": "ﬁne Café 한",
    "nfd": "ﬁne Cafe\u0301 \u1112\u1161\u11ab",
    "nfkc": "fine Café 한",
    "nfkd": "fine Cafe\u0301 \u1112\u1161\u11ab",
}


@pytest.mark.parametrize("kind", NORMALIZING)
@pytest.mark.parametrize("normalization", FORMS)
def test_text_is_normalized(kind, normalization):
    text = [FORMS["identity"]]
    tokenizer = train(kind, text, normalization=normalization)
    found = tokenizer.detokenize(tokenizer.tokenize(text))
    assert strings(found) == [FORMS[normalization]]


@pytest.mark.parametrize("kind", [CharacterTokenizer, WordTokenizer])
@pytest.mark.parametrize("text", ["tʰ v ɛ", "sʲ ɛ", "x² ½ ﬁ ①", "한글 é"])
def test_targets_come_back_as_they_are_written(kind, text):
    tokenizer = kind.train([text], 50)
    for made in (tokenizer, kind(["a"])):
        assert made.get_config()["normalization"] == "nfc"
    assert strings(tokenizer.detokenize(tokenizer.tokenize([text]))) == [text]


@pytest.mark.parametrize("kind", NORMALIZING)
def test_lower_case_is_no_folding(kind):
    tokenizer = train(kind, ["ÄRGER auf der Straße"], lowercase=True)
    ids = tokenizer.tokenize(["Ärger AUF der STRAßE"])
    assert strings(tokenizer.detokenize(ids)) == ["ärger auf der straße"]


def test_an_unknown_normalization_is_refused():
    with pytest.raises(ValueError, match="'nfkc', 'nfkd', 'identity'"):
        WordTokenizer([], normalization="NFD")


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("normalization", FORMS)
def test_cleaning_twice_changes_nothing(normalization, lowercase):
    marked = ["\u03aa\u0301".encode(), "\u0130\u0316".encode()]
    texts = as_texts("x", marked + hostile_texts(520, ["Ein Mann"], 1))
    clean = Normalize(normalization, lowercase).read
    once = [*map(clean, texts)]
    assert [*map(clean, once)] == once


@pytest.mark.parametrize("lowercase", [False, True])
def test_a_nul_cuts_nothing_off(lowercase):
    nul = "\ufffd" if lowercase else "\0"
    texts = ["a\0b", "\0", "c\0", b"a\xffa"]  # and bytes are no Unicode
    clean = Normalize("nfkc", lowercase).read
    found = [*map(clean, as_texts("x", texts))]
    assert found == [f"a{nul}b", nul, f"c{nul}", "a\ufffda"]


# Normal forms: what `unicodedata` gives, for all characters.

EVERY = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def some_texts(count):
    """Letters, marks, and parts of Hangul, in any order."""
    draw = random.Random(3)
    letters = [x for x in EVERY if unicodedata.normalize("NFKD", x) != x]
    marks = [x for x in EVERY if unicodedata.combining(x)]
    parts = [{*unicodedata.normalize("NFD", x)} for x in letters]
    parts = sorted(set.union(*parts))
    hangul = [chr(c) for c in range(0x1100, 0x1200)]
    kinds = letters, marks, parts, parts, "aeouAEO", hangul
    lengths = (draw.randint(0, 9) for _ in range(count))
    return [
        "".join(draw.choice(draw.choice(kinds)) for _ in range(length))
        for length in lengths
    ]


@pytest.mark.parametrize("form", some(["NFKC", "NFC", "NFD", "NFKD"], 1, SLOW))
def test_every_character_and_any_marks_are_those_of_unicode(form):
    odd = ["", "\0e\u0301\0", "\u0301", "e" + "\u0316\u0301" * 500]
    composed = [unicodedata.normalize("NFD", x) for x in EVERY if x.isalpha()]
    texts = [*EVERY, *composed, *odd, *some_texts(30_000)]
    found = strings(normalizer(form)(tf.constant(texts)))
    wanted = [unicodedata.normalize(form, text) for text in texts]
    wrong = [x for x, y, z in zip(texts, found, wanted, strict=True) if y != z]
    assert wrong == []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_tables_are_in_a_graph_once(form):
    """However often text is cleaned in it; half a megabyte at most."""
    function = tf.function(lambda x: normalizer(form)(normalizer(form)(x)))
    graph = function.get_concrete_function(tf.TensorSpec((None,), tf.string))
    size = graph.graph.as_graph_def().ByteSize()
    alone = normalizer(form).graph.as_graph_def().ByteSize()
    assert size < alone + 10_000 < 520_000


@pytest.mark.parametrize("form", ["nfc", "nfd", "nfkc", "nfkd"])
def test_long_runs_of_marks_are_normalized_in_linear_time(form):
    """`unicodedata` takes two minutes for the long ones."""
    step, draw = Normalize(form), random.Random(0)
    pool = "\u0344\u0f73\u0f71\u0f81\u0323\u0301\u0345\u20dd\u0334"
    for length in (3, 501, 900) * 5:
        text = "e" + "".join(draw.choices(pool, k=length)) + "\u1100\u1161"
        text = draw.choice(["\u0301", "Ǖ", "\u0f40"]) + text
        assert step.read(text) == unicodedata.normalize(form.upper(), text)
    begin = time.process_time()
    for run in ("\u0301\u0323", "\u0f73"):
        step.read("e" + run * 200_000)
    assert time.process_time() - begin < 10
