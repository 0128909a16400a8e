"""translate_multi30k.py: the whole job in small, and broken data."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest
from tiers import some

pytestmark = pytest.mark.tensorflow
ROOT = Path(__file__).parents[2]
WITHOUT = """
import sys
sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None
import translate_multi30k
print(translate_multi30k.main(quick=True, folder=sys.argv[1]))
"""

if keras.backend.backend() == "tensorflow":
    import translate_multi30k as example
    from helpers import multi30k_report

    from keras_attention import Translator


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", some(["sentencepiece", "word"], 1))
def test_it_runs_from_files_to_bleu(tmp_path, capsys, monkeypatch, tokenizer):
    exported = []

    def export(translator, folder, sides, language):  # it has its own test
        exported.append((folder, len(sides[0]), language))

    monkeypatch.setattr(example, "export_all", export)
    monkeypatch.setattr(multi30k_report, "PENALTIES", (0.6,))
    plot, saved = tmp_path / "new" / "attention.png", tmp_path / "translator"
    options = {
        "quick": True,
        "tokenizer": tokenizer,
        "plot": plot,
        "save": saved,
        "export": tmp_path / "exported",
        "folder": tmp_path / "training",
    }
    score = example.main(**options)
    assert score.startswith("BLEU = ")
    assert "|case:mixed|" in score
    assert "tok:13a" in score
    printed = capsys.readouterr().out
    assert "Vocabulary: " in printed
    assert f"\nPicture: {plot}\n" in printed
    assert f"\nTranslator: {saved}\n" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(Translator.load(saved)(["a b", "c"])) == 2
    assert exported == [(tmp_path / "exported", 6, "en")]
    left = {file.name for file in (tmp_path / "training").iterdir()}
    assert left >= {"curves.csv", "curves.png", "model.weights.h5"}
    assert left >= {"report.md", "val.greedy.en", "test_2016_flickr.beam_5.en"}
    with pytest.raises(SystemExit, match="other arguments"):
        example.main(**{**options, "seed": 7})


@pytest.mark.thorough
def test_it_runs_without_tensorflow(tmp_path):
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples")])
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path],
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "\nBLEU = " in result.stdout
    assert (tmp_path / "report.md").exists()


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
