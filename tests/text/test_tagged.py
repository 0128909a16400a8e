import numpy as np
import pytest
from tokenizers import strings

from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordTokenizer

pytestmark = pytest.mark.tensorflow

TAGS = ["V;x", "PST", "é", "a"]
WORDS = ["the sea", "a tea", "ΑΣ é ﬁ", "  ", "x?y"]
GIVEN = ["PST", "V;x|a", "", "é|?|é", "PST||a|"]
TEXTS = [f"{word}\t{tags}" for word, tags in zip(WORDS, GIVEN, strict=True)]
INNER = {
    "character": CharacterTokenizer.train(WORDS, 100, normalization="nfkd"),
    "symbol": SymbolTokenizer.train(WORDS),
    "word": WordTokenizer.train(WORDS, 100, lowercase=True),
    "sentencepiece": SentencePieceTokenizer.train(WORDS, 40),
}
every_inner = pytest.mark.parametrize("name", INNER)


def tagged(name="character", tags=TAGS):
    return TaggedTokenizer(INNER[name], tags, "|")


@every_inner
def test_ids_are_those_of_the_tags_and_then_those_of_the_text(name):
    inner = INNER[name]
    size = inner.vocabulary_size
    tokenizer = tagged(name)
    assert tokenizer.vocabulary_size == size + len(TAGS)
    ids = tokenizer.tokenize(TEXTS).numpy()
    for word, tags, row in zip(WORDS, GIVEN, ids, strict=True):
        own = inner.tokenize([word]).numpy()[0].tolist()
        wanted = [
            size + TAGS.index(tag) if tag in TAGS else 1
            for tag in tags.split("|")
            if tag
        ]
        wanted = [own[0], *wanted, *own[1:]]
        assert row[: len(wanted)].tolist() == wanted
        assert not row[len(wanted) :].any()
    np.testing.assert_array_equal(tokenizer.count(TEXTS), (ids > 0).sum(1))


@every_inner
def test_there_is_a_surface_for_each_id(name):
    tokenizer = tagged(name)
    surfaces = tokenizer.surfaces(TEXTS)
    counts = tokenizer.count(TEXTS).numpy() - 2
    np.testing.assert_array_equal(surfaces.row_lengths(), counts)
    first = surfaces[1].numpy()[:2].tolist()
    assert first == [b"V;x", b"a"]


def test_a_text_without_tags_is_that_of_its_own_tokenizer():
    ids = [x.tokenize(WORDS).numpy() for x in (INNER["word"], tagged("word"))]
    np.testing.assert_array_equal(*ids)


def test_what_was_read_comes_back():
    tokenizer = tagged("symbol")
    texts = ["the sea\tPST|a", "a tea", "the\té", "\ta"]
    ids = tokenizer.tokenize(texts)
    assert strings(tokenizer.detokenize(ids)) == texts
    unknown = np.where(ids == 1, "new", "")
    assert strings(tokenizer.detokenize(ids, unknown)) == texts
    ids = tokenizer.tokenize(["the bee\tnone|a"])
    unknown = [["", "tag", "", "", "bee", ""]]
    found = strings(tokenizer.detokenize(ids, unknown))
    assert found == ["tag the bee\ta"]


@every_inner
def test_is_saved_with_the_tokenizer_of_the_text(name, tmp_path):
    tokenizer = tagged(name)
    tokenizer.save(tmp_path)
    again = AbstractTokenizer.load(tmp_path)
    assert again.get_config() == tokenizer.get_config()
    np.testing.assert_array_equal(
        again.tokenize(TEXTS), tokenizer.tokenize(TEXTS)
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer": CharacterTokenizer}, "`tokenizer`"),
        ({"tags": ["a;b"]}, "Split them"),
        ({"tags": ["a\tb"]}, "Split them"),
        ({"tags": ["a", "a"]}, "every token once"),
        ({"tags": "ab"}, "different strings"),
        ({"separator": ""}, "`separator`"),
        ({"separator": "\t"}, "`separator`"),
        ({"separator": None}, "`separator`"),
    ],
)
def test_refuses_what_it_cannot_split(changes, message):
    arguments = {"tokenizer": INNER["character"], "tags": ["a", "b"]}
    with pytest.raises(ValueError, match=message):
        TaggedTokenizer(**{**arguments, **changes})
