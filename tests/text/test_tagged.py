import functools

import numpy as np
import pytest
from tokenizers import strings

from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordTokenizer

TAGS = ["V;x", "PST", "é", "a"]
WORDS = ["the sea", "a tea", "ΑΣ é ﬁ", "  ", "x?y"]
GIVEN = ["PST", " V;x\t|\na", "", "é| ?|é ", "PST|| a| "]
TEXTS = [f"{word}\t{tags}" for word, tags in zip(WORDS, GIVEN, strict=True)]
INNER = {
    "character": (CharacterTokenizer, 100, {"normalization": "nfkd"}),
    "symbol": (SymbolTokenizer, None, {}),
    "word": (WordTokenizer, 100, {"lowercase": True}),
    "sentencepiece": (SentencePieceTokenizer, 40, {}),
}
every_inner = pytest.mark.parametrize("name", INNER)


@functools.cache
def inner_of(name):
    kind, size, options = INNER[name]
    return kind.train(WORDS, size, **options)


def tagged(name="character", tags=TAGS):
    return TaggedTokenizer(inner_of(name), tags, "|")


@every_inner
def test_ids_are_those_of_the_tags_and_then_those_of_the_text(name):
    inner = inner_of(name)
    size = inner.vocabulary_size
    tokenizer = tagged(name)
    assert tokenizer.vocabulary_size == size + len(TAGS)
    ids = tokenizer.tokenize(TEXTS)
    known = {tag: size + i for i, tag in enumerate(TAGS)}
    for word, tags, row in zip(WORDS, GIVEN, ids, strict=True):
        own = inner.tokenize([word])[0].tolist()
        listed = [tag.strip() for tag in tags.split("|")]
        of_tags = [known.get(tag, 1) for tag in listed if tag]
        wanted = [own[0], *of_tags, *own[1:]]
        assert row[: len(wanted)].tolist() == wanted
        assert not row[len(wanted) :].any()
    counts = (ids > 0).sum(1)
    np.testing.assert_array_equal(tokenizer.count(TEXTS), counts)
    surfaces = tokenizer.surfaces(TEXTS)
    np.testing.assert_array_equal([*map(len, surfaces)], counts - 2)
    assert surfaces[1][:2] == ["V;x", "a"]


def test_tags_of_old_files_may_have_spaces_around_them():
    """As `train` took them once from such text."""
    tokenizer = tagged("symbol", ["V", " PST", " V", "x y"])
    first = inner_of("symbol").vocabulary_size
    ids = tokenizer.tokenize(["\tV| PST| V|x y", "\t V |PST |V| x y "])
    assert ids[0].tolist() == ids[1].tolist()
    assert (ids[0, 1:5] - first).tolist() == [0, 1, 0, 3]
    again = AbstractTokenizer.from_json(tokenizer.to_json())
    assert again.vocabulary == tokenizer.vocabulary


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
    ("name", "wrong", "message"),
    [
        ("tokenizer", CharacterTokenizer, "`tokenizer`"),
        *(("tags", x, "Split them") for x in (["a;b"], ["a\tb"])),
        *(("tags", x, "each token once") for x in (["a", "a"], "ab")),
        *(("separator", x, "`separator`") for x in ("", "\t", None)),
    ],
)
def test_refuses_what_it_cannot_split(name, wrong, message):
    arguments = {"tokenizer": inner_of("character"), "tags": ["a", "b"]}
    with pytest.raises(ValueError, match=message):
        TaggedTokenizer(**{**arguments, name: wrong})


def test_more_tags_stand_after_the_old_ones():
    old = TaggedTokenizer(CharacterTokenizer("ab"), ["X", "PL"])
    found = old.extended(["ab\tY;PL", "b\tZ; Y;;", "a"])
    assert found.vocabulary == ["a", "b", "X", "PL", "Y", "Z"]
    assert found.tag_ids == [6, 7, 8, 9]
    assert old.tag_ids == [6, 7]


def extended_twice():
    old = TaggedTokenizer(CharacterTokenizer("ab"), ["X", "PL"])
    return old.extended(["acb\tX;Y"]).extended(["d\tZ", "c\tY"])


def test_more_letters_stand_after_old_tags():
    found = extended_twice()
    assert found.vocabulary == ["a", "b", "X", "PL", "c", "Y", "d", "Z"]
    texts = ["abcd\tZ;X;Y;PL", "\tPL", "dc"]
    ids = found.tokenize(texts)
    assert ids[0].tolist() == [2, 11, 6, 9, 7, 4, 5, 8, 10, 3]
    assert found.detokenize(ids).tolist() == texts
    again = AbstractTokenizer.from_json(found.to_json())
    np.testing.assert_array_equal(again.tokenize(texts), ids)


@pytest.mark.parametrize("wrong", [[6], [6, 6], [3, 4], [6, 8], [6, 7, 9]])
def test_each_tag_has_an_id_of_its_own(wrong):
    with pytest.raises(ValueError, match=r"`tag_ids` must be 2 ids of range"):
        TaggedTokenizer(CharacterTokenizer("ab"), ["X", "Y"], ";", wrong)


@pytest.mark.parametrize("ids", [[4, 6], [6, 4], np.array([6, 7])])
def test_ids_of_tags_are_saved(ids):
    tokenizer = TaggedTokenizer(CharacterTokenizer("ab"), ["X", "Y"], ";", ids)
    loaded = AbstractTokenizer.from_json(tokenizer.to_json())
    assert loaded.vocabulary == tokenizer.vocabulary
    assert loaded.tag_ids == [*ids]
