"""Embeddings of words, as a model takes them. More in test_seq2seq."""

import numpy as np
import pytest
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model


@pytest.mark.parametrize("side", ["source", "target"])
def test_words_of_no_vocabulary_are_embedded_as_unknown(side):
    model = small_model(copying=True)
    embed = getattr(model, f"embed_{side}")
    ids = np.array([[4, 1, WORDS, WORDS + 7]])
    found = to_numpy(embed(ids))
    assert_close(found[0, 2:], np.repeat(found[:, 1], 2, axis=0), 0)
    assert np.abs(found[0, 0] - found[0, 1]).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("side", ["source", "target"])
def test_words_are_dropped_in_training_alone(side):
    """The embeddings of a word are 0 wherever it is, or are scaled up."""
    model = small_model(word_dropout=0.5, tie_embeddings=False)
    embed = getattr(model, f"embed_{side}")
    ids = np.tile([[4, 5, 4, 6]], (32, 1)).astype("int32")
    plain = to_numpy(embed(ids))
    drawn = to_numpy(embed(ids, training=True)) / plain
    assert_close(drawn[:, 0], drawn[:, 2], 1e-6)
    assert np.isclose(drawn, 0, atol=1e-6).any()
    np.testing.assert_allclose(drawn[drawn > 1], 2.0, rtol=1e-5)
    assert model.get_config()["word_dropout"] == 0.5
    logits = to_numpy(model((SOURCE, TARGET)))
    other = to_numpy(model((SOURCE, TARGET), training=True))
    assert np.abs(logits - other).max() > 0.01
    assert_close(model((SOURCE, TARGET)), logits, 0)
