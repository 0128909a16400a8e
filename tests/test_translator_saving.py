"""Translator.save and load: one folder, whole or not at all."""

import json
import shutil

import keras
import pytest
from tiny import tiny_translator

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention import GreedySearch
    from keras_attention import Translator

NUMBERS = ["7", "1234", "905", "42", "6006"]


def test_save_and_load(tmp_path):
    translator = tiny_translator()
    translator.save(tmp_path / "digits")
    translator.save(tmp_path / "digits")  # replaces what it wrote
    shutil.move(tmp_path / "digits", tmp_path / "moved")
    again = Translator.load(str(tmp_path / "moved"))
    wanted = translator(NUMBERS, return_scores=True)
    assert again(NUMBERS, return_scores=True) == wanted
    assert again.search.get_config() == translator.search.get_config()


def test_options_are_saved(tmp_path):
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    Translator(*parts, GreedySearch(max_length=5), 7, True).save(tmp_path)
    again = Translator.load(tmp_path)
    assert again.max_source_length == 7
    assert again.replace_unknown
    assert again.search.max_length == 5


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


def test_a_flipped_bit_is_named(tmp_path):
    tiny_translator().save(tmp_path)
    file = tmp_path / "model.keras"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.keras.* CRC"):
        Translator.load(tmp_path)


@pytest.mark.parametrize("content", ["", "3", "[]", "{}", '{"search": 3}'])
def test_another_translator_json_is_named(tmp_path, content):
    tiny_translator().save(tmp_path)
    (tmp_path / "translator.json").write_text(content)
    with pytest.raises(ValueError, match=r"translator\.json, which cannot"):
        Translator.load(tmp_path)


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
