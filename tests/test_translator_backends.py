"""Translator on every backend: text is TensorFlow's part everywhere."""

import keras
import numpy as np
import pytest
from seq2seqs import sure_model
from tiny import tiny_translator
from tiny import write

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import Translator

pytestmark = pytest.mark.usefixtures("without_graphs")

NUMBERS = ["7", "1234", "905", "42", "6006", "77", "31"]


@pytest.mark.slow
def test_it_translates(tmp_path):
    translator = tiny_translator()
    wanted = [write(number) for number in NUMBERS]
    assert translator(NUMBERS) == wanted
    assert translator(NUMBERS, batch_size=3, verbose=0) == wanted
    assert translator([]) == translator([], return_scores=True).scores == []
    assert len(translator(["", "1"])) == 2
    translator.save(tmp_path)
    again = Translator.load(tmp_path)
    told = again(NUMBERS, return_scores=True, return_attention_scores=True)
    assert told.texts == wanted
    for number, weights in zip(NUMBERS, told.attention, strict=True):
        assert weights.shape == (len(number) + 1, len(number) + 2)
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_several_texts_and_prefixes():
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    several = Translator(*parts, BeamSearch(3, n_best=2, max_length=8))
    found = several(NUMBERS)
    assert [texts[0] for texts in found] == [write(n) for n in NUMBERS]
    forced = several(NUMBERS, prefixes=["r", *[""] * (len(NUMBERS) - 1)])
    assert forced[1:] == found[1:]
    assert all(text.startswith("r") for text in forced[0])


@pytest.mark.slow
def test_each_member_reads_by_its_own_tokenizer():
    """In batches of any size, as one by one."""
    tiny = tiny_translator()
    digits, target = CharacterTokenizer("975310"), tiny.target_tokenizer
    other = sure_model(digits.vocabulary_size, target.vocabulary_size)
    tokenizers = [tiny.source_tokenizer, digits]
    both = Ensemble([tiny.model, other], [9, 1])
    translator = Translator(both, tokenizers, target, tiny.search)
    found = translator(NUMBERS, return_scores=True, batch_size=3)
    assert found.texts == [write(number) for number in NUMBERS]
    target = target.tokenize(found.texts)
    each = [
        np.exp(
            keras.ops.convert_to_numpy(
                model.score(np.array(x.tokenize(NUMBERS)), np.array(target))[1]
            )
        )
        for model, x in zip(both.models, tokenizers, strict=True)
    ]
    wanted = np.log(0.9 * each[0] + 0.1 * each[1]).sum(axis=1)
    np.testing.assert_allclose(found.scores, wanted, atol=1e-4)


@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="exports are for TensorFlow"
)
def test_exports_say_which_backend_they_need(tmp_path):
    tokenizer = CharacterTokenizer("0123456789", "identity")
    model = sure_model(*[tokenizer.vocabulary_size] * 2)
    translator = Translator(model, tokenizer, tokenizer)
    for form, name in (
        ("tf_saved_model", "1"),
        ("litert", "x.tflite"),
        ("onnx", "x.onnx"),
    ):
        with pytest.raises(ValueError, match="KERAS_BACKEND=tensorflow"):
            translator.export(tmp_path / name, form)
    assert list(tmp_path.iterdir()) == []
