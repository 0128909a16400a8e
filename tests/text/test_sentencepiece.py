import sys

import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from foreign import KINDS
from foreign import TEXT
from foreign import foreign_model
from hostile import hostile_texts
from tokenizers import strings

from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import as_texts

EXACT = [
    "Ein Mann, der lacht.",
    "  zwei  Leerzeichen  ",
    " ",
    "",
    "\tTab\n\nZeilen\r\n",
    "\0 a\0b",
    "👨‍👩‍👧 🏳️‍🌈",
    "שלום مرحبا \u202e!",
    "ﬁ ½ Å e\u0301",
    "<unk> <s> </s> <pad> <0x41>",
    " \u2047 \u2585 \ufffd",
    "漢字仮名" * 300,
]


def train(text=TEXT, size=400, **options):
    return SentencePieceTokenizer.train(text, size, **options)


def back(tokenizer, text):
    return strings(tokenizer.detokenize(tokenizer.tokenize(text)))


def pieces(tokenizer, text):
    names = tokenizer.tokens(tokenizer.tokenize([text])[0])
    return strings(names)[1:-1]


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_any_text_comes_back_exactly(model_type):
    tokenizer = train(model_type=model_type, normalization="identity")
    assert back(tokenizer, EXACT) == EXACT
    texts = hostile_texts(1300, TEXT, 6)
    valid = [t.decode(errors="replace") for t in texts]
    assert back(tokenizer, valid) == valid
    assert not (tokenizer.tokenize(texts) == 1).any()


@pytest.mark.parametrize("lowercase", [False, True])
def test_cleaned_text_comes_back_exactly(lowercase):
    tokenizer = train(lowercase=lowercase)
    texts = hostile_texts(650, TEXT, 7)
    cleaned = map(tokenizer.cleaning.read, as_texts("texts", texts))
    assert back(tokenizer, texts) == [*cleaned]


def test_training_sees_cleaned_text():
    tokenizer = train(["EIN HUND ﬁ"], 100, lowercase=True)
    assert {*"".join(tokenizer.vocabulary)} == {*"\u2581einhudf"}


def test_a_lower_one_eighth_block_is_a_space():
    assert back(train(), ["a\u2581b"]) == ["a b"]


def test_frequent_words_are_one_piece():
    tokenizer = train(["Hund und Katze", "Hund"] * 9, 300)
    assert pieces(tokenizer, "Hund") == ["\u2581Hund"]
    assert pieces(tokenizer, "Ä") == ["\u2581", "<0xC3>", "<0x84>"]


@pytest.mark.parametrize(
    ("size", "fallback", "known"),
    [(260, None, False), (261, None, True), (261, True, True), (400, False, 0)],
)
def test_bytes_are_there_where_they_have_room(size, fallback, known):
    tokenizer = train(size=size, byte_fallback=fallback)
    assert ("<0xFF>" in tokenizer.vocabulary) == known
    assert tokenizer.vocabulary_size <= size
    want = "Ein€€ €" if known else "Ein<unk> <unk>"
    assert back(tokenizer, ["Ein€€ €"]) == [want]


def test_bytes_that_are_no_character_are_replaced():
    tokenizer = train(byte_fallback=True)
    euro = [4 + tokenizer.vocabulary.index(f"<0x{b:X}>") for b in "€".encode()]
    found = tokenizer.detokenize([euro, [*euro[:2], 3]])
    assert strings(found) == ["€", "\ufffd"]


@pytest.mark.parametrize("size", [5, 6, 10, 20, 30, 31, 40])
@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_any_size_has_the_most_frequent_characters(model_type, size):
    tokenizer = train(size=size, model_type=model_type)
    assert tokenizer.vocabulary_size <= size
    assert back(tokenizer, [" "]) == [" "]
    if size > 5:
        assert {"e", "n"} & {*tokenizer.vocabulary}


@pytest.mark.parametrize(
    ("options", "least"),
    [({"size": 4}, 5), ({"size": 260, "byte_fallback": True}, 261)],
)
def test_too_little_room_is_an_error(options, least):
    with pytest.raises(ValueError, match=f"at least {least}"):
        train(**options)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("model_type", "word"),
        ("normalization", "nmt"),
        ("character_coverage", 0),
    ],
)
def test_wrong_options_are_named(name, wrong):
    with pytest.raises(ValueError, match=f"{name}="):
        train(**{name: wrong})


def test_rare_characters_get_no_piece():
    text = ["ab" * 2000 + "c"]
    assert "c" not in train(text, 200).vocabulary
    assert "c" in train(text, 200, character_coverage=1.0).vocabulary


def test_no_sentence_is_too_long_to_learn_from():
    tokenizer = train(["b", "Hund " * 3000], 300, model_type="bpe")
    assert pieces(tokenizer, "Hund") == ["\u2581Hund"]


def test_surfaces_are_pieces_without_spaces():
    tokenizer = train(["Hund und Katze", "Hund"] * 9, 300)
    found = tokenizer.surfaces(["Hund  €", ""])
    assert found[0] == ["Hund", *4 * [""], "€"]
    assert found[1] == []


@pytest.mark.parametrize("name", KINDS)
def test_a_foreign_model_keeps_its_pieces(name):
    model = foreign_model(**KINDS[name])
    other = sentencepiece.SentencePieceProcessor(model_proto=model)
    tokenizer = SentencePieceTokenizer(model, normalization="identity")
    special = {other.unk_id(), other.pad_id(), other.bos_id(), other.eos_id()}
    own = [i for i in range(other.vocab_size()) if i not in special]
    assert tokenizer.vocabulary == [other.id_to_piece(i) for i in own]
    texts = [*TEXT, *EXACT, "<2de> Hund <m>", "§§ §a"]
    ids = tokenizer.tokenize(texts)
    ours = {theirs: 4 + i for i, theirs in enumerate(own)}
    ours[other.unk_id()] = 1
    written = back(tokenizer, texts)
    for text, row, found in zip(texts, ids, written, strict=True):
        theirs = other.encode(text)
        want = [2, *(ours[i] for i in theirs), 3]
        assert row[: len(want)].tolist() == want
        written = other.decode(theirs).replace(" \u2047 ", "<unk>")
        if "\u2047" not in text:
            assert found == written


def test_control_pieces_write_nothing():
    model = foreign_model(control_symbols=["<m>"])
    tokenizer = SentencePieceTokenizer(model)
    mask = 4 + tokenizer.vocabulary.index("<m>")
    ids = tokenizer.tokenize(["Hund"])[0, 1:-1].tolist()
    assert strings(tokenizer.detokenize([[mask, *ids, mask]])) == ["Hund"]


def test_a_model_may_write_spaces_behind_words():
    model = foreign_model(
        treat_whitespace_as_suffix=True,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
    )
    tokenizer = SentencePieceTokenizer(model)
    text = ["Ein Hund.", " Ein ", ""]
    assert back(tokenizer, text) == text


def test_the_model_is_a_file_for_other_tools(tmp_path):
    tokenizer = train(normalization="identity")
    file = tmp_path / "my.model"
    file.write_bytes(tokenizer.model)
    other = sentencepiece.SentencePieceProcessor(model_file=str(file))
    ids = other.encode("Ein Hund €")
    assert tokenizer.tokenize(["Ein Hund €"])[0, 1:-1].tolist() == ids
    assert (other.pad_id(), other.unk_id()) == (0, 1)
    assert (other.bos_id(), other.eos_id()) == (2, 3)
    twin = SentencePieceTokenizer(file, normalization="identity")
    assert twin.get_config() == tokenizer.get_config()


@pytest.mark.parametrize("model", [b"", b"x", b"\0" * 99, b"\n\x03abc"])
def test_a_damaged_model_is_named(model, tmp_path):
    file = tmp_path / "my.model"
    file.write_bytes(model)
    with pytest.raises(ValueError, match=r"my\.model, \d+ bytes"):
        SentencePieceTokenizer(file)
    with pytest.raises(ValueError, match="valid `sentencepiece` model"):
        SentencePieceTokenizer(model)


@pytest.mark.parametrize("model", ["my.model", None, 3, [b"a"]])
def test_a_model_is_bytes_or_a_path(model):
    with pytest.raises(ValueError, match=r"`pathlib\.Path`"):
        SentencePieceTokenizer(model)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"gone\.model: No such file"):
        SentencePieceTokenizer(tmp_path / "gone.model")
    with pytest.raises(ValueError, match="directory"):
        SentencePieceTokenizer(tmp_path)


def test_missing_packages_are_named(monkeypatch):
    model = train().model
    tokenizer = SentencePieceTokenizer(model, normalization="identity")
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"`tensorflow_text`.*\[text\]"):
        tokenizer.tokenize(tf.constant(["Hund"]))
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ImportError, match=r"`sentencepiece`.*\[sentencepi"):
        SentencePieceTokenizer(model, normalization="identity")
    with pytest.raises(ImportError, match=r"\.train needs `sentencepiece`"):
        train()


def test_a_graph_holds_its_model_once():
    """However many endpoints an export has."""
    tokenizer = train()

    @tf.function(
        input_signature=[tf.TensorSpec((None,), tf.string)], autograph=False
    )
    def serve(text):
        both = tokenizer.tokenize(text), tokenizer.tokenize(text[1:])
        return *both, tokenizer.surfaces(text).to_tensor()

    graph = serve.get_concrete_function().graph.as_graph_def()
    groups = [graph.node, *(f.node_def for f in graph.library.function)]
    used = [node.op for group in groups for node in group]
    assert used.count("SentencepieceOp") == 1


@pytest.mark.slow
def test_a_new_seed_takes_no_model_away():
    """TensorFlow then drops the kernels that resources may belong to."""
    first, second = train(), train(size=300)
    graph = tf.function(first.tokenize, autograph=False)
    wanted = [x.tokenize(TEXT) for x in (first, second)]
    np.testing.assert_array_equal(graph(tf.constant(TEXT)), wanted[0])
    keras.utils.set_random_seed(1)
    keras.backend.clear_session()
    for tokenizer, ids in zip((first, second), wanted, strict=True):
        np.testing.assert_array_equal(tokenizer.tokenize(TEXT), ids)
    np.testing.assert_array_equal(graph(tf.constant(TEXT)), wanted[0])
