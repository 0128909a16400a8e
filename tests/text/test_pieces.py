import pytest
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_attention.text.pieces import first_names
from keras_attention.text.pieces import inner_names
from keras_attention.text.pieces import own_pieces
from keras_attention.text.pieces import rename_learned
from keras_attention.text.pieces import written

pytestmark = pytest.mark.tensorflow


def test_pieces_of_a_model_get_our_ids():
    kinds = ModelProto.SentencePiece
    model = ModelProto()
    for piece, kind in (
        ("</s>", kinds.CONTROL),
        ("[?]", kinds.UNKNOWN),
        ("\u2581Hund", kinds.NORMAL),
        ("<mask>", kinds.CONTROL),
        ("<s>", kinds.CONTROL),
        ("<0x0A>", kinds.BYTE),
        ("<pad>", kinds.CONTROL),
    ):
        model.pieces.add(piece=piece, type=kind)
    ids, names, texts = own_pieces(model)
    assert ids == [3, 1, 4, 5, 2, 6, 0]
    assert names == ["\u2581Hund", "<mask>", "<0x0A>"]
    assert texts == [b" Hund", b"", b"\n"]


@pytest.mark.parametrize(
    ("learned", "name"),
    [("\u2581Hund", "Hund"), ("e", "##e"), ("\u2581##", "##"), ("##", "####")],
)
def test_learned_pieces_are_renamed(learned, name):
    assert rename_learned(learned) == name


@pytest.mark.parametrize(
    ("piece", "text"),
    [("Hund", " Hund"), ("##e", "e"), ("##", " ##"), ("####", "##")],
)
def test_a_piece_is_written_with_its_space(piece, text):
    assert written(piece) == text


def test_no_word_has_the_name_of_an_id():
    names = inner_names(["a", "##a", "##", "####"])
    assert names[4:] == ["a", "\x01a", "##", "\x01##"]
    assert names[1] == "<unk>"
    assert all(" " in names[special] for special in (0, 2, 3))


def test_at_the_beginning_nothing_is_continued():
    names, firsts = first_names(["a", "##a", "##", "##b"])
    assert names[4:] == ["a", "\x01a", "##", "\x01b", "b"]
    assert firsts == [0, 1, 2, 3, 4, 4, 6, 8]
