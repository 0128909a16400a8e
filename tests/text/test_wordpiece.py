import numpy as np
import pytest
import tensorflow as tf
from hostile import hostile_texts
from tiers import some
from tokenizers import strings

from keras_attention.export import run_litert
from keras_attention.export.litert import OPERATIONS
from keras_attention.files import seal
from keras_attention.text import WordPieceTokenizer

pytestmark = pytest.mark.tensorflow

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
        ("Hunde.", "Hund|##e|##."),
        ("Hundee", "Hund|##e|##e"),
        ("ab abc", "ab|ab|##c"),
        ("e", "<unk>"),
        ("Hundx ab", "<unk>|ab"),
        ("##e #ab", "<unk>|<unk>"),
        ("<unk> <s> </s>", "<unk>|<unk>|<unk>"),
        (" \t ab\nab  ", "ab|ab"),
        ("ab\u00a0ab ab", "<unk>|ab"),
        ("ab\u200dab", "ab|ab"),
        ("", ""),
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
    cleaned = strings(tokenizer.clean(tf.constant(texts)))
    want = [" ".join(filter(None, text.split(" "))) for text in cleaned]
    assert back(tokenizer, texts) == want


@pytest.mark.parametrize("lowercase", [False, True])
def test_ids_and_texts_are_stable_there_and_back(lowercase):
    tokenizer = train(lowercase=lowercase)
    ids = tokenizer.tokenize(hostile_texts(780, TEXT, 3))
    text = tokenizer.detokenize(ids)
    np.testing.assert_array_equal(tokenizer.tokenize(text), ids)
    assert back(tokenizer, text) == strings(text)


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


def test_a_small_text_gives_a_small_vocabulary():
    found = train(["ab"], 1000).vocabulary
    assert found == ["a", "b", "##a", "##b", "##ab", "ab"]


def test_a_character_needs_room():
    with pytest.raises(ValueError, match="at least 6"):
        train(size=5)


def test_signs_that_look_like_joiners_are_no_joiners():
    text = ["##", "##a a##a # ###", "a ## ##b"]
    tokenizer = train(text, 100)
    assert back(tokenizer, text) == text


@pytest.mark.parametrize("piece", ["a b", " ", "a\t", "##a b"])
def test_a_piece_with_white_space_is_refused(piece):
    with pytest.raises(ValueError, match=r"WordPieceTokenizer\.train"):
        WordPieceTokenizer(["a", piece])


@pytest.mark.parametrize("vocabulary", [["\x01a", "##a"], ["a" * 257]])
def test_a_piece_that_no_word_has_is_refused(vocabulary):
    with pytest.raises(ValueError, match="`vocabulary`"):
        WordPieceTokenizer(vocabulary)


def test_a_very_long_word_is_unknown():
    tokenizer = WordPieceTokenizer(["a", "##a"])
    ids = tokenizer.tokenize(["a" * 100_000, "a" * 100_001])
    assert ids.shape == (2, 100_002)
    assert ids[1, :3].numpy().tolist() == [2, 1, 3]


@pytest.mark.parametrize("lowercase", [False, True])
def test_operations_of_litert_give_the_same(lowercase):
    tokenizer = train(lowercase=lowercase)
    spaces = "\u0085\u00a0\u1680\u2003\u2028\u202f\u3000"
    texts = [t for t in hostile_texts(650, TEXT, 8) if valid(t)]
    texts += [f"a{x}b {x} c".encode() for x in spaces]
    for batch in ([], [""], ["", "a", " ", "b c", ""], texts):
        batch = tf.constant(batch, tf.string)
        ids = tokenizer.tokenize(batch)
        np.testing.assert_array_equal(tokenizer.litert_tokenize(batch), ids)
        np.testing.assert_array_equal(
            tokenizer.litert_detokenize(ids), tokenizer.detokenize(ids)
        )


def test_at_the_beginning_nothing_is_continued():
    tokenizer = WordPieceTokenizer(["a", "##a", "##", "##b"])
    ids = [[2, 5, 5, 4, 3], [2, 7, 6, 3, 0], [1, 7, 7, 3, 0]]
    want = ["aa a", "b ##", "<unk>bb"]
    assert strings(tokenizer.detokenize(ids)) == want
    assert strings(tokenizer.litert_detokenize(np.array(ids, "int32"))) == want


def convert(tokenizer, path):
    """Write what works in LiteRT as one file with several signatures."""
    text = tf.TensorSpec((None,), tf.string, name="text")
    ids = tf.TensorSpec((None, None), tf.int32, name="ids")
    parts = {
        "tokenize": (tokenizer.litert_tokenize, text),
        "cut": (lambda text: tokenizer.litert_tokenize(text, 4), text),
        "detokenize": (tokenizer.litert_detokenize, ids),
        "tokens": (tokenizer.tokens, ids),
        "normalize": (tokenizer.normalize, text),
    }
    module = tf.Module()
    module.tokenizer = tokenizer
    signatures = {
        name: tf.function(
            lambda x, f=f: {"answer": f(x)}, [spec], autograph=False
        )
        for name, (f, spec) in parts.items()
    }
    tf.saved_model.save(module, str(path / "saved"), signatures)
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(path / "saved"), signature_keys=list(parts)
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    converter.allow_custom_ops = True
    file = path / "tokenizer.tflite"
    file.write_bytes(converter.convert())
    seal(file)
    return file


def run(file, signature, batches):
    name = "ids" if signature in ("detokenize", "tokens") else "text"
    batches = [{name: batch} for batch in batches]
    answers = run_litert.run(str(file), signature, batches, OPERATIONS)
    return [answer["answer"] for answer in answers]


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", some([True, False], 1))
def test_litert_gives_the_same(lowercase, tmp_path):
    tokenizer = train(lowercase=lowercase)
    file = convert(tokenizer, tmp_path)
    batches = [
        TEXT[:1],
        TEXT,
        ["", "Ein", ""],
        [""],
        ["", ""],
        [],
        ["Ein Mann " * 10_000],
        [t for t in hostile_texts(260, TEXT, 4) if valid(t)],
    ]
    batches = [np.array(tf.constant(b, tf.string)) for b in batches]
    ids = [tokenizer.tokenize(batch).numpy() for batch in batches]
    odd = [[2, 9, 1, -3, 99_999, 3, 7], [3, 5, 5, 5, 5, 5, 5], [0, 8, 0, 2, 6]]
    ids += [np.array([row[:5] for row in odd], "int32")]
    inner = [i for i, x in enumerate(tokenizer.vocabulary, 4) if "##" in x]
    ids += [np.array([[0, 2, i, i, 3] for i in inner], "int32")]
    ids += [np.array(odd[:2], "int32")]
    for signature, inputs, function in (
        ("tokenize", batches, tokenizer.tokenize),
        ("cut", batches, lambda text: tokenizer.tokenize(text, 4)),
        ("detokenize", ids, tokenizer.detokenize),
        ("tokens", ids, tokenizer.tokens),
        ("normalize", batches, tokenizer.clean),
    ):
        for found, batch in zip(
            run(file, signature, inputs), inputs, strict=True
        ):
            want = function(batch).numpy()
            assert found.shape == want.shape
            np.testing.assert_array_equal(found, want)


def valid(text):
    return text == text.decode("utf-8", errors="replace").encode()
