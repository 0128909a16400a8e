"""Translator: text in, text out, saved and loaded as one thing."""

import json
import shutil

import keras
import numpy as np
import pytest
from tiny import tiny_translator
from tiny import write

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention import Translation
    from keras_attention import Translator

NUMBERS = ["7", "1234", "905", "42", "6006"]


def test_it_translates():
    assert tiny_translator()(NUMBERS) == [write(n) for n in NUMBERS]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_batches_do_not_matter(batch_size):
    translator = tiny_translator()
    texts = translator(NUMBERS, batch_size=batch_size)
    assert texts == [write(n) for n in NUMBERS]


def test_sentences_come_as_any_sequence():
    translator = tiny_translator()
    wanted = translator(NUMBERS)
    as_bytes = [number.encode() for number in NUMBERS]
    for sentences in (tuple(NUMBERS), np.array(NUMBERS), as_bytes):
        assert translator(sentences) == wanted


def test_nothing_and_empty_text():
    translator = tiny_translator()
    assert translator([]) == []
    assert translator([], return_scores=True).scores == []
    assert len(translator(["", "1"])) == 2


@pytest.mark.parametrize(
    "text", ["\udcff", "\0", "🙂" * 50, "שלום", b"\xff\xfe"]
)
def test_odd_text_changes_no_other_row(text):
    assert tiny_translator()(["42", text, "7"])[::2] == ["vx", "s"]


def test_it_tells_what_is_asked_for():
    translator = tiny_translator()
    plain = translator(NUMBERS)
    scored = translator(NUMBERS, return_scores=True)
    assert isinstance(scored, Translation)
    assert scored.texts == plain
    assert scored.attention is None
    assert scored.source_tokens is None
    assert all(score < 0 for score in scored.scores)
    aligned = translator(NUMBERS, return_attention_scores=True)
    assert aligned.scores is None
    assert aligned.texts == plain
    for number, source, target, weights in zip(
        NUMBERS, *aligned[2:], strict=True
    ):
        assert source == ["<s>", *number, "</s>"]
        assert target == [*write(number), "</s>"]
        assert weights.shape == (len(target), len(source))
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_save_and_load(tmp_path):
    translator = tiny_translator()
    translator.save(tmp_path / "digits")
    translator.save(tmp_path / "digits")  # replaces what it wrote
    shutil.move(tmp_path / "digits", tmp_path / "moved")
    again = Translator.load(str(tmp_path / "moved"))
    wanted = translator(NUMBERS, return_scores=True)
    assert again(NUMBERS, return_scores=True) == wanted
    assert again.search.get_config() == translator.search.get_config()


@pytest.mark.parametrize(
    "name",
    [
        "translator.json",
        "model.keras",
        "source_tokenizer/tokenizer.json",
        "target_tokenizer/tokenizer.json",
    ],
)
def test_load_names_the_damaged_file(tmp_path, name):
    tiny_translator().save(tmp_path / "digits")
    file = tmp_path / "digits" / name
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")
    file.unlink()
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")


def test_load_refuses_another_search(tmp_path):
    tiny_translator().save(tmp_path / "digits")
    file = tmp_path / "digits" / "translator.json"
    file.write_text(json.dumps({"search": {"class_name": "Nothing"}}))
    with pytest.raises(ValueError, match=r"translator\.json"):
        Translator.load(tmp_path / "digits")


def test_save_will_not_replace_what_others_wrote(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="Will not replace"):
        tiny_translator().save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_refuses_what_it_cannot_use(tmp_path):
    translator = tiny_translator()
    model = translator.model
    small, large = translator.target_tokenizer, translator.source_tokenizer
    with pytest.raises(ValueError, match="into a list"):
        translator("42")
    with pytest.raises(ValueError, match="into a list"):
        translator([["42"]])
    with pytest.raises(ValueError, match="batch_size"):
        translator(["42"], batch_size=0)
    with pytest.raises(ValueError, match="generates"):
        Translator(keras.layers.Dense(1), large, small)
    bigger = type(large)([*large.get_config()["vocabulary"], *"abcdefghijk"])
    with pytest.raises(ValueError, match="source_tokenizer"):
        Translator(model, bigger, small)
    with pytest.raises(ValueError, match="format"):
        translator.export(tmp_path / "x", format="pickle")
