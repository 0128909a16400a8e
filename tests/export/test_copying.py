"""Copying from text to text: names that no vocabulary has."""

import keras
import numpy as np
import pytest
from ready import GRAPH
from seq2seqs import built_model

from keras_attention import BeamSearch
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def name(draw):
    return "".join(draw.choice([*LETTERS], 5)).title()


def sentences(count, seed):
    """Who greets whom, and the same in the passive."""
    draw = np.random.default_rng(seed)
    names = [(name(draw), name(draw)) for _ in range(count)]
    return (
        [f"{a} greets {b}." for a, b in names],
        [f"{b} is greeted by {a}." for a, b in names],
    )


@pytest.fixture(scope="module")
def untrained():
    tokenizer = WordTokenizer(["by", "greeted", "greets", "is", "."])
    keras.utils.set_random_seed(0)
    model = built_model(
        keras.layers.LSTMCell(32),
        attention=16,
        words=tokenizer.vocabulary_size,
        embedding_dim=16,
        encoder=RecurrentEncoder(16),
        copying=True,
    )
    return Translator(model, tokenizer, tokenizer, BeamSearch(3, max_length=9))


@pytest.fixture(scope="module")
def translator(untrained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copying")
    paths = folder / "active", folder / "passive"
    for path, lines in zip(paths, sentences(600, 0), strict=True):
        path.write_text("\n".join(lines))
    tokenizer, model = untrained.source_tokenizer, untrained.model
    data = parallel_dataset(
        *paths, tokenizer, tokenizer, 32, training=True, seed=1, copying=True
    )
    adam = keras.optimizers.Adam(0.01)
    model.compile(adam, loss=SequenceCrossentropy(), **GRAPH)
    model.fit(data, epochs=12, verbose=0, shuffle=False)
    return untrained


@pytest.mark.thorough
def test_names_are_copied(translator):
    source, target = sentences(40, seed=9)
    found = translator(source, return_attention_scores=True)
    assert found.texts == target
    assert found.source_tokens[0][1] == source[0].split()[0]
    words = target[0].rstrip(".").split()
    assert found.target_tokens[0] == [*words, ".", "</s>"]


@pytest.mark.thorough
def test_a_saved_model_copies(translator, tmp_path):
    import tensorflow as tf

    source, target = sentences(8, seed=10)
    translator.save(tmp_path / "kept")
    again = Translator.load(tmp_path / "kept")
    again.export(tmp_path / "1")
    served = tf.saved_model.load(tmp_path / "1").signatures["serving_default"]
    answer = served(text=tf.constant([*source, "", "Zoe greets"]))
    texts = [x.decode() for x in answer["translations"].numpy()[:, 0]]
    assert texts[:8] == target
    assert "Zoe" in texts[-1]


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


def test_the_model_must_know_the_whole_vocabulary(untrained):
    other = WordTokenizer(["by", "greeted", "greets", "is"])
    with pytest.raises(ValueError, match="all of them if it copies"):
        Translator(untrained.model, other, other)
    turned = WordTokenizer(["by", "greeted", "greets", ".", "is"])
    tokenizer = untrained.source_tokenizer
    with pytest.raises(ValueError, match="one vocabulary"):
        Translator(untrained.model, tokenizer, turned)
