"""translate_multi30k.py: the whole job in small, the download, broken data."""

import gzip
import hashlib
import sys

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import translate_multi30k as example


def test_it_runs_from_files_to_bleu(tmp_path, capsys):
    plot, export = tmp_path / "attention.png", tmp_path / "model" / "1"
    score = example.main(quick=True, plot=plot, export=export)
    assert score.startswith("BLEU = ")
    assert "|case:lc|" in score
    assert "tok:13a" in score
    assert "Vocabularies: 12 12" in capsys.readouterr().out
    assert plot.read_bytes().startswith(b"\x89PNG")
    served = tf.saved_model.load(export).signatures["serving_default"]
    assert served(tf.constant(["a b"]))["translations"].shape == (1, 1)


def test_download_checks_what_it_fetched(tmp_path, monkeypatch):
    folder = example.made_up_corpus("de", "en")
    names = [
        f"{part}.{side}.gz" for part in example.PARTS for side in ("de", "en")
    ]
    sums = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names
    }
    monkeypatch.setattr(example, "ORIGIN", folder.as_uri())
    monkeypatch.setattr(example, "SHA256", sums)
    example.download(tmp_path, ["de", "en"])
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    (tmp_path / names[0]).unlink()
    monkeypatch.setitem(sums, names[0], "0" * 64)
    with pytest.raises(Exception, match=r"(?i)hash"):
        example.download(tmp_path, ["de", "en"])


def test_all_parts_of_three_languages_have_a_checksum():
    assert len(example.SHA256) == len(example.PARTS) * 3
    assert all(len(value) == 64 for value in example.SHA256.values())


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


def test_the_folder_has_to_be_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["translate_multi30k.py"])
    with pytest.raises(SystemExit):
        example.arguments()
    assert "--data is needed" in capsys.readouterr().err
