"""Shortlists in exported files: each runtime gives what Python gives."""

import keras
import numpy as np
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import onnxruntime
    import tensorflow as tf

    from keras_attention import BeamSearch
    from keras_attention import Shortlist
    from keras_attention import Translator
    from keras_attention.export import agreement
    from keras_attention.export.litert import run_litert

NUMBERS = ["7", "1234", "905", "", "60061"]


@pytest.fixture(scope="module")
def translator():
    tiny = tiny_translator()
    sizes = tiny.model.source_vocabulary_size, tiny.model.target_vocabulary_size
    table = np.random.default_rng(0).integers(4, sizes[1], (sizes[0], 2))
    return Translator(
        tiny.model,
        tiny.source_tokenizer,
        tiny.target_tokenizer,
        BeamSearch(3, n_best=2, max_length=6, coverage_penalty=0.2),
        shortlist=Shortlist(table, [1]),
    )


def generate(translator, ids):
    found = translator.model.generate(
        ids, translator.search, shortlist=translator.shortlist
    )
    if len(ids) == len(NUMBERS):  # else the file might have no shortlist
        other = translator.model.generate(ids, translator.search)
        assert not np.array_equal(found.tokens, other.tokens)
    return found


def ids_of(translator):
    return translator.source_tokenizer.tokenize(NUMBERS).numpy()


@pytest.mark.slow
def test_saved_model(translator, tmp_path):
    translator.export(tmp_path / "x")
    served = tf.saved_model.load(tmp_path / "x").signatures["serving_default"]
    given = served(text=tf.constant(NUMBERS))
    texts, scores, *_ = translator(NUMBERS, return_scores=True)
    assert [
        [x.decode() for x in row] for row in given["translations"].numpy()
    ] == texts
    np.testing.assert_allclose(given["scores"], scores, atol=1e-4)
    assert texts != Translator(
        translator.model,
        translator.source_tokenizer,
        translator.target_tokenizer,
        translator.search,
    )(NUMBERS)


@pytest.mark.slow
def test_litert(translator, tmp_path):
    translator.export(tmp_path / "x.tflite", "litert")
    ids = ids_of(translator)
    (given,) = run_litert(
        tmp_path / "x.tflite", "translate_ids", [{"source_ids": ids}]
    )
    wanted = generate(translator, ids)
    np.testing.assert_array_equal(given["tokens"], wanted.tokens)
    np.testing.assert_allclose(given["scores"], wanted.scores, atol=1e-4)


@pytest.mark.thorough
@pytest.mark.slow
def test_onnx(translator, tmp_path):
    translator.export(tmp_path / "x.onnx", "onnx")
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    for rows in (slice(5), slice(1, 2)):
        ids = ids_of(translator)[rows]
        tokens, scores = session.run(["tokens", "scores"], {"source_ids": ids})
        wanted = generate(translator, ids)
        np.testing.assert_array_equal(tokens, wanted.tokens)
        np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)


@pytest.mark.slow
def test_a_text_is_scored_among_the_listed_words(translator):
    """Where rounding decided for another text, its score is asked for."""
    model = translator.model.limited_to(translator.shortlist)
    ids = ids_of(translator)
    found = generate(translator, ids)
    scores = agreement._score_texts(
        model, translator.search, ids, found.tokens.numpy()
    )
    exists = np.isfinite(found.scores)
    np.testing.assert_allclose(
        scores[exists], found.scores.numpy()[exists], atol=1e-5
    )
