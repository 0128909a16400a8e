import gzip

import pytest

from keras_attention.text import CharacterTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer


def test_frequent_tokens_come_first_and_ties_are_sorted():
    tokenizer = WordTokenizer.train(["b c c", "a d", "e"], 8)
    assert tokenizer.vocabulary == ["c", "a", "b", "d"]
    assert tokenizer.vocabulary_size == 8


def test_rare_tokens_get_no_id():
    tokenizer = WordTokenizer.train(["a a b", "a b c"], 100, min_frequency=2)
    assert tokenizer.vocabulary == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "token", "options"),
    [
        (CharacterTokenizer, "A", {"lowercase": True}),
        (WordTokenizer, "A\u0301", {}),
        (WordPieceTokenizer, "\u00e9", {"lowercase": True}),
        (WordTokenizer, "\ufb01", {"normalization": "nfkc"}),
    ],
)
def test_warns_of_a_token_that_no_text_has(kind, token, options):
    """It is made all the same, as from a file."""
    with pytest.warns(UserWarning, match="never uses"):
        made = kind(["b", token], **options)
    assert made.vocabulary == ["b", token]


@pytest.mark.parametrize("kind", [SymbolTokenizer, WordTokenizer])
def test_half_a_pair_is_no_token(kind):
    with pytest.raises(ValueError, match="UTF-16"):
        kind(["b", "\ud800"])


@pytest.mark.parametrize("least", [0, 1.5, "2"])
def test_a_frequency_is_a_count(least):
    with pytest.raises(ValueError, match="`min_frequency` must be a positive"):
        WordTokenizer.train(["a"], 100, min_frequency=least)


def test_counting_splits_as_tokenizing_does():
    text = ["L'homme's t-shirt: ﬁ \"3.5\"", "Ein\u00a0Mann…"]
    for lowercase in (False, True):
        tokenizer = WordTokenizer.train(text, 100, lowercase=lowercase)
        assert not (tokenizer.tokenize(text) == 1).any()


def test_files_are_read_as_sentences_are(tmp_path):
    lines = ["Ein Mann.", "Ein Hund."]
    plain, packed = tmp_path / "a.txt", tmp_path / "b.gz"
    plain.write_text("\n".join(lines))
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    want = WordTokenizer.train(lines, 100).vocabulary
    assert WordTokenizer.train([plain], 100).vocabulary == want
    assert WordTokenizer.train([plain, packed], 100).vocabulary == want
    assert WordTokenizer.train(iter([packed]), 100).vocabulary == want


def test_more_sentences_than_are_counted_at_once():
    text = (f"w{n % 7}" for n in range(10_000))
    assert WordTokenizer.train(text, 100).vocabulary_size == 4 + 7


def test_special_ids_need_room():
    with pytest.raises(ValueError, match="vocabulary_size=4"):
        WordTokenizer.train(["a"], 4)


@pytest.mark.parametrize(
    "vocabulary",
    [
        *(["a", "a"], ["a", ""], ["<s>"], ["a", 3], "word", {"a": 4}, {"a"}),
        *(["a b"], [" "], ["a", "b\v"], ["##a b"]),
    ],
)
@pytest.mark.parametrize(
    "kind", [SymbolTokenizer, WordTokenizer, WordPieceTokenizer]
)
def test_a_vocabulary_names_every_token_once(kind, vocabulary):
    with pytest.raises(ValueError, match=f"{kind.__name__} .*`vocabulary`"):
        kind(vocabulary)


def test_an_empty_vocabulary_knows_nothing():
    tokenizer = WordTokenizer([])
    assert tokenizer.vocabulary_size == 4
    assert tokenizer.tokenize(["a b"]).tolist() == [[2, 1, 1, 3]]


@pytest.mark.parametrize(
    ("kind", "text", "new", "vocabulary"),
    [
        (CharacterTokenizer, "ab", ["b\u00e7", "c\u0327d"], [*"abçd"]),
        (SymbolTokenizer, "b a", ["c C", "C b  <unk>"], [*"abCc"]),
        (WordTokenizer, "Obst a", ["Obst- b, <unk>"], ["Obst", "a", ",", "b"]),
    ],
)
def test_more_entries_stand_after_the_old_ones(kind, text, new, vocabulary):
    """Entries that can be read already are not new."""
    old = kind.train([text], 100)
    found = old.extended(new)
    assert found.vocabulary == vocabulary
    assert old.vocabulary == vocabulary[: len(old.vocabulary)]
    assert {x for row in found.unknown(new) for x in row} <= {"<unk>"}
    same = {**found.get_config(), "vocabulary": None}
    assert same == {**old.get_config(), "vocabulary": None}
    assert old.extended([text]).vocabulary == old.vocabulary
    with pytest.raises(ValueError, match="`texts` must be a list"):
        old.extended(text)


def test_tokenizers_of_pieces_are_not_extended():
    with pytest.raises(ValueError, match="WordPieceTokenizer cannot be ext"):
        WordPieceTokenizer(["a", "##b"]).extended(["c"])
