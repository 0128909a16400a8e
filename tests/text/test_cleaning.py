import pytest
import tensorflow as tf
from hostile import hostile_texts
from tokenizers import KINDS
from tokenizers import strings
from tokenizers import train

from keras_attention.text import CharacterTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text.cleaning import clean

pytestmark = pytest.mark.tensorflow

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
    assert tokenizer.get_config()["normalization"] == "nfc"
    assert strings(tokenizer.detokenize(tokenizer.tokenize([text]))) == [text]


@pytest.mark.parametrize("kind", NORMALIZING)
def test_lower_case_is_no_folding(kind):
    tokenizer = train(kind, ["ÄRGER auf der Straße"], lowercase=True)
    ids = tokenizer.tokenize(["Ärger AUF der STRAßE"])
    assert strings(tokenizer.detokenize(ids)) == ["ärger auf der straße"]


def test_an_unknown_normalization_is_refused():
    with pytest.raises(ValueError, match="'nfkc', 'nfkd', 'identity'"):
        WordTokenizer([], normalization="NFD")


def test_invalid_bytes_become_the_replacement_character():
    tokenizer = CharacterTokenizer("a\ufffd")
    ids = tokenizer.tokenize(tf.constant([b"a\xffa"]))
    assert ids.numpy().tolist() == [[2, 4, 5, 4, 3]]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("normalization", FORMS)
def test_cleaning_twice_changes_nothing(normalization, lowercase):
    marked = ["\u03aa\u0301".encode(), "\u0130\u0316".encode()]
    texts = tf.constant(marked + hostile_texts(520, ["Ein Mann"], 1))
    once = clean(texts, normalization, lowercase)
    again = clean(once, normalization, lowercase)
    assert strings(again) == strings(once)


@pytest.mark.parametrize("lowercase", [False, True])
def test_a_nul_cuts_nothing_off(lowercase):
    nul = "\ufffd" if lowercase else "\0"
    texts = clean(tf.constant(["a\0b", "\0", "c\0"]), "nfkc", lowercase)
    assert strings(texts) == [f"a{nul}b", nul, f"c{nul}"]
