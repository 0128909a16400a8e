import numpy as np
import pytest
import tensorflow as tf
from hostile import hostile_texts
from tokenizers import strings

from keras_attention.export import TensorTokenizer
from keras_attention.export.litert_words import litert_detokenize
from keras_attention.export.litert_words import litert_tokenize
from keras_attention.text import WordPieceTokenizer

TEXT = [
    "Ein Mann, der lacht.",
    "Zwei Hunde (nass) spielen im Schnee.",
    "Über 3.5 km: der Hund?",
]


def train(text=TEXT, size=400, **options):
    return WordPieceTokenizer.train(text, size, **options)


def back(tokenizer, text):
    return strings(tokenizer.detokenize(tokenizer.tokenize(text)))


def pieces(tokenizer, text):
    names = tokenizer.tokens(tokenizer.tokenize([text])[0])
    return strings(names)[1:-1]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        *(("Hunde.", "Hund|##e|##."), ("Hundee", "Hund|##e|##e")),
        *(("ab abc", "ab|ab|##c"), ("e", "<unk>"), ("Hundx ab", "<unk>|ab")),
        *(("##e #ab", "<unk>|<unk>"), (" \t ab\nab  ", "ab|ab"), ("", "")),
        ("<unk> <s> </s>", "<unk>|<unk>|<unk>"),
        ("<unk>e </s>e", "<unk>|<unk>"),
        *(("ab\u00a0ab ab", "<unk>|ab"), ("ab\u200dab", "ab|ab")),
    ],
)
def test_words_are_split_from_the_left(text, want):
    vocabulary = ["Hund", "##e", "##.", "a", "ab", "##c"]
    found = pieces(WordPieceTokenizer(vocabulary), text)
    assert found == (want.split("|") if want else [])


def test_text_comes_back_but_for_its_white_space():
    tokenizer = train()
    assert back(tokenizer, TEXT) == TEXT
    spaced = [text.replace(" ", " \t ") + "\n" for text in TEXT]
    assert back(tokenizer, spaced) == TEXT
    assert back(train(["10\u00a0000\u3000x"]), ["10\u00a0000\u3000x"]) == [
        "10\u00a0000\u3000x"
    ]


def test_text_without_unknown_words_comes_back_exactly():
    texts = hostile_texts(390, TEXT, 2)
    tokenizer = train(
        [t.decode(errors="replace") for t in texts] + TEXT, 10_000
    )
    clean = tokenizer.steps[0].read
    cleaned = [clean(text.decode(errors="replace")) for text in texts]
    want = [" ".join(filter(None, text.split(" "))) for text in cleaned]
    assert back(tokenizer, texts) == want


def test_lower_case_takes_accents_off():
    tokenizer = train(["aste der strasse"], lowercase=True)
    assert back(tokenizer, ["ÄSTE der Straße"]) == ["aste der strasse"]
    assert back(train(["Äste"]), ["Äste aste"]) == ["Äste <unk>"]


@pytest.mark.parametrize("normalization", ["nfkc", "nfc", "nfd"])
def test_litert_cannot_normalize(normalization):
    with pytest.raises(ValueError, match=r"LiteRT.*SentencePieceTokenizer"):
        train(normalization=normalization)
    assert train(normalization="identity").normalization == "identity"


def test_characters_come_first_then_pieces_by_their_rank():
    tokenizer = train(["aab aab aac"], 100)
    assert tokenizer.vocabulary[:6] == ["a", "b", "c", "##a", "##b", "##c"]
    assert {"aa", "aab"} <= {*tokenizer.vocabulary[6:]}
    assert train(["aab aab aac"], 12).vocabulary == tokenizer.vocabulary[:8]
    assert train(size=8).vocabulary == ["e", "n", "##e", "##n"]


@pytest.mark.parametrize("size", [6, 7, 20, 63, 64, 70, 100])
def test_a_vocabulary_is_as_large_as_it_may_be(size):
    words = [f"{n * n * 7919 % 99991}" for n in range(300)]
    assert train(words, size).vocabulary_size == size


def test_a_character_needs_room():
    with pytest.raises(ValueError, match="at least 6"):
        train(size=5)


def test_signs_that_look_like_joiners_are_no_joiners():
    text = ["##", "##a a##a # ###", "a ## ##b"]
    tokenizer = train(text, 100)
    assert back(tokenizer, text) == text


@pytest.mark.parametrize("vocabulary", [["\x01a", "##a"], ["a" * 257]])
def test_a_piece_that_no_word_has_is_refused(vocabulary):
    with pytest.raises(ValueError, match="`vocabulary`"):
        WordPieceTokenizer(vocabulary)


def test_a_very_long_word_is_unknown():
    tokenizer = WordPieceTokenizer(["a", "##a"])
    ids = tokenizer.tokenize(["a" * 100_000, "a" * 100_001])
    assert ids.shape == (2, 100_002)
    assert ids[1, :3].tolist() == [2, 1, 3]


@pytest.mark.parametrize("lowercase", [False, True])
def test_operations_of_litert_give_the_same(lowercase):
    tokenizer = TensorTokenizer(train(lowercase=lowercase))
    spaces = "\u0085\u00a0\u1680\u2003\u2028\u202f\u3000"
    texts = [t for t in hostile_texts(650, TEXT, 8) if valid(t)]
    texts += [f"a{x}b {x} c".encode() for x in spaces]
    for batch in ([], [""], ["", "a", " ", "b c", ""], texts):
        batch = tf.constant(batch, tf.string)
        ids = tokenizer.tokenize(batch)
        np.testing.assert_array_equal(litert_tokenize(tokenizer, batch), ids)
        np.testing.assert_array_equal(
            litert_detokenize(tokenizer, ids), tokenizer.detokenize(ids)
        )


def test_at_the_beginning_nothing_is_continued():
    tokenizer = WordPieceTokenizer(["a", "##a", "##", "##b"])
    ids = [[2, 5, 5, 4, 3], [2, 7, 6, 3, 0], [1, 7, 7, 3, 0]]
    want = ["aa a", "b ##", "<unk>bb"]
    assert strings(tokenizer.detokenize(ids)) == want
    form, ids = TensorTokenizer(tokenizer), np.array(ids, "int32")
    assert strings(litert_detokenize(form, ids)) == want


def valid(text):
    return text == text.decode("utf-8", errors="replace").encode()
