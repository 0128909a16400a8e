"""Copying from text to text: names that no vocabulary has."""

import keras
import numpy as np
import pytest
from alone import run_alone
from seq2seqs import built_model

from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import SentencePieceTokenizer
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention.export import export_onnx_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("without_graphs_of_its_own"),
]


@pytest.fixture(scope="module")
def untrained():
    tokenizer = WordTokenizer(["by", "greeted", "greets", "is", "."])
    keras.utils.set_random_seed(0)
    model = built_model(
        keras.layers.LSTMCell(8),
        attention=8,
        words=tokenizer.vocabulary_size,
        embedding_dim=8,
        encoder=RecurrentEncoder(4),
        copying=True,
    )
    return Translator(model, tokenizer, tokenizer, GreedySearch(max_length=9))


def test_translations_begin_with_names_of_the_source(untrained):
    """Also with those that no vocabulary has."""
    source = ["Zoe greets Lou.", "Ann greets Bea.", "Kim greets Sue."]
    prefixes = ["Lou is", "is Zoe", ""]
    plain = untrained(source, prefixes=prefixes, return_attention_scores=True)
    assert plain.texts[0].startswith("Lou is")
    assert plain.texts[1].startswith("is Zoe")  # a word of no source
    assert plain.target_tokens[1][:2] == ["is", "<unk>"]
    assert plain.target_tokens[0][:2] == ["Lou", "is"]
    assert plain.texts[2] == untrained(source)[2]
    assert untrained(source, prefixes=prefixes) == plain.texts
    scored = untrained.score(source[:1], [plain.texts[0]])
    assert scored.target_tokens[0] == plain.target_tokens[0]
    found = untrained(source[:1], prefixes=prefixes[:1], return_scores=True)
    np.testing.assert_allclose(scored.scores, found.scores, rtol=1e-4)


def test_formats_without_text_refuse(untrained, tmp_path):
    for format, file in (("litert", "x.tflite"), ("onnx", "x.onnx")):
        with pytest.raises(ValueError, match="copying=True"):
            untrained.export(tmp_path / file, format=format)


def test_pieces_in_onnx_have_no_words_to_copy(untrained, tmp_path):
    pieces = SentencePieceTokenizer.train(["ab"], 7)
    parts = untrained.model, pieces, pieces, untrained.search
    with pytest.raises(ValueError, match="Received: SentencePieceTokenizer"):
        export_onnx_text(tmp_path / "x.onnx", *parts)


def test_onnx_with_text_copies(untrained, tmp_path):
    path = tmp_path / "x.onnx"
    untrained.export(path, "onnx_align")
    texts = ["Zoe greets Lou.", "", "Kim Kim is Zoe by Zoe", "Ann \0 x " * 9]
    wanted = untrained(texts[:3], return_attention_scores=True)
    answer, empty = run_alone(path, [texts, []], extensions=True)
    translations, _, sources, targets, *_ = answer
    assert [row[0] for row in translations[:3]] == wanted.texts
    for i in range(3):
        for row, real in (
            (sources[i], wanted.source_tokens[i]),
            (targets[i, 0], wanted.target_tokens[i]),
        ):
            assert [x for x in row if x] == real
    names = {"Zoe", "Lou", "Kim"}
    assert names & {*targets[:3].ravel()}, "nothing was copied"
    assert names < {*sources[:3].ravel()}
    assert not any(len(x) for x in empty)


def test_the_model_must_know_the_whole_vocabulary(untrained):
    other = WordTokenizer(["by", "greeted", "greets", "is"])
    with pytest.raises(ValueError, match="all of its ids if the model copies"):
        Translator(untrained.model, other, other)
    turned = WordTokenizer(["by", "greeted", "greets", ".", "is"])
    tokenizer = untrained.source_tokenizer
    with pytest.raises(ValueError, match="one vocabulary"):
        Translator(untrained.model, tokenizer, turned)
