"""A lexical model in every format: files give what Python gives."""

import keras
import numpy as np
import pytest
from seq2seqs import small_model

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

if keras.backend.backend() == "tensorflow":
    import onnxruntime
    import tensorflow as tf

    from keras_attention import BeamSearch
    from keras_attention import CharacterTokenizer
    from keras_attention import Translator
    from keras_attention.export.litert import run_litert

TEXTS = ["01234", "42", "", "300"]


@pytest.fixture(scope="module")
def translator():
    tokenizer = CharacterTokenizer("01234", "identity")
    assert tokenizer.vocabulary_size == 9
    model = small_model(lexical=True)
    search = BeamSearch(3, n_best=2, max_length=6, coverage_penalty=0.2)
    return Translator(model, tokenizer, tokenizer, search)


@pytest.fixture(scope="module")
def wanted(translator):
    """What Python gives, which the lexicon has a part in."""
    model = translator.model
    found = translator(TEXTS, return_scores=True)
    kernel = model.lexical_translation.output_kernel
    value = keras.ops.convert_to_numpy(kernel)
    kernel.assign(0 * value)
    assert translator(TEXTS) != found[0]
    kernel.assign(value)
    return found


def ids_of(translator):
    return translator.source_tokenizer.tokenize(TEXTS).numpy()


def assert_same(translator, given, wanted):
    tokens, scores = given
    rows, beams, steps = tokens.shape
    texts = translator.target_tokenizer.detokenize(
        tokens.reshape(-1, steps).astype("int32")
    )
    texts = np.array([x.decode() for x in texts.numpy()])
    assert texts.reshape(rows, beams).tolist() == wanted[0]
    np.testing.assert_allclose(scores, wanted[1], atol=1e-4)


def test_saved_model(translator, wanted, tmp_path):
    translator.export(tmp_path / "x")
    served = tf.saved_model.load(tmp_path / "x").signatures["serving_default"]
    given = served(text=tf.constant(TEXTS))
    texts = [[x.decode() for x in row] for row in given["translations"].numpy()]
    assert texts == wanted[0]
    np.testing.assert_allclose(given["scores"], wanted[1], atol=1e-4)


def test_litert(translator, wanted, tmp_path):
    translator.export(tmp_path / "x.tflite", "litert")
    ids = ids_of(translator)
    (given,) = run_litert(
        tmp_path / "x.tflite", "translate_ids", [{"source_ids": ids}]
    )
    assert_same(translator, (given["tokens"], given["scores"]), wanted)


def test_onnx(translator, wanted, tmp_path):
    translator.export(tmp_path / "x.onnx", "onnx")
    run = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    names = [x.name for x in run.get_outputs()]
    given = run.run(None, {run.get_inputs()[0].name: ids_of(translator)})
    given = dict(zip(names, given, strict=True))
    assert_same(translator, (given["tokens"], given["scores"]), wanted)


def test_a_saved_translator_comes_back(translator, wanted, tmp_path):
    translator.save(tmp_path / "x")
    again = Translator.load(tmp_path / "x")
    assert again.model.lexical
    assert again(TEXTS) == wanted[0]
