"""translate_multi30k.py: the whole job in small, and broken data."""

import gzip
import sys

import keras
import pytest
from tiers import some

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import translate_multi30k as example

    from keras_attention import Translator


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", some(["sentencepiece", "word"], 1))
def test_it_runs_from_files_to_bleu(tmp_path, capsys, monkeypatch, tokenizer):
    words = tokenizer == "word"
    asked, write = [], Translator.export

    def export_one(self, path, form):  # each has tests of its own
        asked.append((form, path.name))
        if form == "tf_saved_model":
            write(self, path, form)

    monkeypatch.setattr(Translator, "export", export_one)
    plot, saved = tmp_path / "new" / "attention.png", tmp_path / "translator"
    export = tmp_path / "exported" if words else None
    score = example.main(
        quick=True, tokenizer=tokenizer, plot=plot, save=saved, export=export
    )
    assert score.startswith("BLEU = ")
    assert "|case:lc|" in score
    assert "tok:13a" in score
    printed = capsys.readouterr().out
    assert "Vocabularies: " in printed
    assert f"\nPicture: {plot}\n" in printed
    assert f"\nTranslator: {saved}\n" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(Translator.load(saved)(["a b", "c"])) == 2
    if words:
        assert f"\nonnx: {export / 'translator.onnx'}\n" in printed
        served = tf.saved_model.load(export / "1").signatures["serving_default"]
        assert served(tf.constant(["a b"]))["translations"].shape == (1, 1)
        assert asked == [
            ("tf_saved_model", "1"),
            ("litert", "translator.tflite"),
            ("onnx", "translator.onnx"),
        ]


@pytest.mark.parametrize("fault", ["missing", "short", "empty", "truncated"])
def test_broken_data_stops_it_at_once(fault):
    folder = example.made_up_corpus("de", "en")
    file = folder / "train.en.gz"
    packed = file.read_bytes()
    lines = gzip.decompress(packed).splitlines(keepends=True)
    broken = {
        "short": gzip.compress(b"".join(lines[:-1])),
        "empty": gzip.compress(b""),
        "truncated": packed[: len(packed) // 2],
    }
    if fault == "missing":
        file.unlink()
    else:
        file.write_bytes(broken[fault])
    with pytest.raises((ValueError, SystemExit), match=r"train\.en"):
        example.main(data=folder)


def test_text_that_is_not_utf8_is_named_with_its_line():
    folder = example.made_up_corpus("de", "en")
    file = folder / "val.de.gz"
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    lines[2] = b"a \xff b\n"
    file.write_bytes(gzip.compress(b"".join(lines)))
    with pytest.raises(ValueError, match=r"val\.de\.gz.*3"):
        example.main(data=folder)


@pytest.mark.slow
def test_the_folder_has_to_be_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["translate_multi30k.py"])
    with pytest.raises(SystemExit):
        example.arguments()
    assert "--data is needed" in capsys.readouterr().err
