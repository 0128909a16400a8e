import json

import pronounce
import pytest
from helpers import g2p2020

from keras_attention import Translator
from keras_attention.recipe import CURVES
from keras_attention.recipe import make_model
from keras_attention.recipe import make_tokenizers
from keras_attention.recipe import read_texts


@pytest.fixture
def made_up(tmp_path):
    g2p2020.make_up(tmp_path, ["hun"])
    return tmp_path


def test_a_language_that_is_not_there_is_named(made_up):
    with pytest.raises(SystemExit, match=r"kor_train\.tsv.*--download"):
        g2p2020.find(made_up, "kor")


def untrained(train, _, folder, recipe):
    """Save a translator that has not been trained, to spare a minute."""
    tokenizers = make_tokenizers(*read_texts(train, recipe), recipe)
    model = make_model(recipe, *(x.vocabulary_size for x in tokenizers))
    translator = Translator(model, *tokenizers)
    translator.save(folder)
    (folder / CURVES).write_text("seconds\n60\n")
    return translator


def without(translator, _):
    """Write no files and translate nothing, to spare the time."""
    return {"wer": 50.0, "per": 9.0, "words_a_second": 1.0}


@pytest.mark.slow
@pytest.mark.tensorflow
def test_tests_each_once_and_all_together(tmp_path, capsys, monkeypatch):
    """The thorough test has what is left out here."""
    monkeypatch.setattr(pronounce, "train_translator", untrained)
    for name in ("export", "measure"):
        monkeypatch.setattr(pronounce, name, without)
    options = {"language": "kor", "output": tmp_path}
    found = pronounce.main(quick=True, **options)
    folder = tmp_path / "pronounce"
    (result,) = found["kor"]
    assert result["minutes"] == 1
    assert (folder / "table.md").read_text() in capsys.readouterr().out
    done = json.loads((folder / "kor_0" / "result.json").read_text())
    assert done == result
    again = pronounce.main(quick=True, seeds=2, **options)
    assert again["kor"][0] == result
    assert len(again["kor"]) == 2
    text = (folder / "table.md").read_text()
    assert "| kor | 2 |" in text
    assert "| kor together | 1 |" in text
    ensemble = Translator.load(folder / "kor_0_to_1")
    assert type(ensemble.model).__name__ == "Ensemble"
    assert pronounce.main(quick=True, seeds=2, **options) == again
    kinds = {"seeds": 2, "attention": ["hard", "additive"]}
    pronounce.main(quick=True, **kinds, **options)
    found = [Translator.load(folder / f"kor_hard_{i}").model for i in (0, 1)]
    found = [type(x.readout).__name__ == "HardAttention" for x in found]
    assert found == [True, False]


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_writes_files_for_phones_and_onnxruntime(tmp_path):
    (result,) = pronounce.main(quick=True, output=tmp_path)["hun"]
    assert 0 <= result["wer"] <= 100
    folder = tmp_path / "pronounce" / "hun_0"
    for name in ("tflite", "onnx", "json"):
        assert (folder / f"translator.{name}").stat().st_size > 100
