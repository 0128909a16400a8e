"""Pieces by `sentencepiece`: where they begin and end."""

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.text import SentencePieceTokenizer
    from keras_attention.text import processor


def test_pieces_make_up_the_text():
    text = ["Ein Hund lacht, ein Mann lacht.", "Hund €", ""]
    model = SentencePieceTokenizer.train(text[:1], 300).model
    ids = processor.find_ids(model, text)
    starts, ends = processor.find_spans(model, text)
    lengths = ids.row_lengths().tolist()
    assert starts.row_lengths().tolist() == lengths
    assert ends.row_lengths().tolist() == lengths
    pieces = zip(
        ids.row_ids(), starts.flat_values, ends.flat_values, strict=True
    )
    joined = ["", "", ""]
    for row, start, end in pieces:
        joined[row] += text[row].encode()[start:end].decode()
    assert joined == text


def test_a_model_is_loaded_once():
    model = SentencePieceTokenizer.train(["ein Hund"], 300).model
    one = processor.load_processor(model)
    assert processor.load_processor(bytes(bytearray(model))) is one
    assert np.all(processor.find_ids(model, ["ein"]).flat_values >= 0)
