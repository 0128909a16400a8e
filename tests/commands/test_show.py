"""`show`: a translator in a few lines."""

import hashlib
import json
from pathlib import Path

import keras
from shell import load
from shell import saved
from shell import saved_list
from shell import shell

from keras_attention import AbstractModel
from keras_attention import Translator
from keras_attention import __version__


@keras.saving.register_keras_serializable("test_show")
class Echo(AbstractModel):
    source_vocabulary_size = target_vocabulary_size = 9

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.built = True


def test_shows_what_is_there():
    code, out, err = shell("show", saved(2))
    assert (code, err) == (0, "")
    count = Translator.load(saved(2)).model.count_params()
    assert f"weights {count}" in out
    assert "source: class CharacterTokenizer, vocabulary_size 9\n" in out
    assert "search: class BeamSearch, " in out
    assert "beam_size 2" in out
    assert f"keras_attention {__version__}, keras {keras.__version__}" in out
    main = (saved(2) / "translator.json").read_bytes()
    assert f"sha256: {hashlib.sha256(main).hexdigest()}\n" in out


def test_an_export_is_told_from_a_translator():
    dates = Path(__file__).parents[2] / "saved_models" / "dates"
    for path, named in (
        (dates, ("dates/1, ", "dates/translator.tflite. ")),
        (dates / "1", ("dates/1. ",)),
        (dates / "translator.tflite", ("dates/translator.tflite. ",)),
    ):
        code, out, err = shell("show", path)
        assert (code, out) == (1, "")
        assert "it contains an export" in err
        assert all(name in err for name in named)


def test_shows_a_model_of_any_kind(tmp_path):
    """One without encoder, decoder or attention: it repeats its source."""
    whole = load(saved())
    sides = whole.source_tokenizer, whole.target_tokenizer
    Translator(Echo(), *sides).save(tmp_path / "echo")
    found = json.loads(shell("show", tmp_path / "echo", "--json")[1])
    assert found["model"] == {"class": "Echo", "weights": 0, "dtype": "float32"}


def test_shows_json_to_programs_and_a_shortlist():
    found = json.loads(shell("show", saved(), "--json")[1])
    assert found["model"]["attention"] == "BahdanauAttention"
    assert found["model"]["lexical"] is False
    assert found["search"]["class"] == "GreedySearch"
    files = [x for x in saved().rglob("*") if x.is_file()]
    assert found["bytes"] == sum(x.stat().st_size for x in files)
    found = json.loads(shell("show", saved_list(), "--json")[1])
    assert found["shortlist"] == {"candidates": 1, "always": 2}
    out = shell("show", saved_list())[1]
    assert "\nshortlist: candidates 1, always 2\n" in out
    assert "\nshortlist: None\n" in shell("show", saved())[1]
