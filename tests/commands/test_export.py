"""`export`: what `Translator.export` writes."""

import pytest
from shell import saved
from shell import shell

from keras_attention import Translator
from keras_attention.commands import main


def test_exports_as_the_translator_does(tmp_path, monkeypatch):
    asked = []

    def export(_, *arguments, **options):
        asked.append((arguments, options))

    monkeypatch.setattr(Translator, "export", export)
    path = str(tmp_path / "x.tflite")
    words = "--format", "litert", "--quantize", "int8", "--max-length", "9"
    assert shell("export", saved(), path, *words) == (0, "", "")
    assert shell("export", saved(), path) == (0, "", "")
    assert asked == [
        ((path, "litert"), {"max_length": 9, "quantize": "int8"}),
        ((path, None), {"max_length": None, "quantize": None}),
    ]


def test_errors_of_formats_are_messages(tmp_path, capsys):
    words = tmp_path / "x", "--quantize", "int8"
    code, _, err = shell("export", saved(), *words)
    assert code == 1
    assert "`quantize` needs a format that has it" in err
    with pytest.raises(SystemExit):
        main(["export", str(saved()), str(tmp_path / "x"), "--format", "x"])
    assert "litert" in capsys.readouterr().err
