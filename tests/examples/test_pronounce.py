import hashlib
import json

import g2p2020
import keras
import pronounce
import pytest

from keras_attention import Translator


@pytest.fixture
def made_up(tmp_path):
    g2p2020.make_up(tmp_path, ["hun"])
    return tmp_path


def test_made_up_words_follow_from_their_letters(made_up):
    files = g2p2020.find(made_up, "hun")
    counts = [len(file.read_text().splitlines()) for file in files]
    assert counts == [200, 20, 20]
    for line in files[0].read_text().splitlines():
        word, sounds = line.split("\t")
        assert len(sounds.split()) >= 4
        assert ("sh" in word) <= ("ʃ" in sounds)


def test_a_language_that_is_not_there_is_named(made_up):
    with pytest.raises(SystemExit, match=r"kor_train\.tsv.*--download"):
        g2p2020.find(made_up, "kor")


def test_there_is_a_baseline_for_each_language():
    assert g2p2020.BASELINE.keys() == g2p2020.SHA256.keys()
    mean = sum(g2p2020.BASELINE.values()) / len(g2p2020.LANGUAGES)
    assert round(mean, 2) == 16.84


def test_what_is_downloaded_is_checked(tmp_path, made_up, monkeypatch):
    files = g2p2020.find(made_up, "hun")
    asked = []

    def get_file(name, origin, **_):
        asked.append(origin)
        return made_up / name

    monkeypatch.setattr(keras.utils, "get_file", get_file)
    with pytest.raises(SystemExit, match="not those of 2020"):
        g2p2020.download(tmp_path / "new", ["hun"])
    content = b"".join(file.read_bytes() for file in files)
    known = {"hun": hashlib.sha256(content).hexdigest()}
    monkeypatch.setattr(g2p2020, "SHA256", known)
    g2p2020.download(tmp_path / "new", ["hun"])
    assert asked[0] == f"{g2p2020.ORIGIN}/train/hun_train.tsv"
    assert len(asked) == 6


def test_the_table_has_means_and_deviations():
    numbers = {name: 1.0 for name in pronounce.COLUMNS}
    found = {
        "hun": [numbers, {**numbers, "wer": 4.0}],
        "hun together": [numbers],
        "vie": [{**numbers, "wer": 0.5}],
        "vie together": [{**numbers, "wer": 0.0}],
    }
    head, _, hun, both, vie, _, mean, last = pronounce.table(found).splitlines()
    assert head.startswith("| language | trainings | baseline | wrong words")
    assert both.startswith("| hun together | 1 | 5.33 | 1.00 | 1.00 |")
    assert last.startswith("| mean together |  | 5.00 | 0.50 | 1.00 |")
    assert hun.startswith("| hun | 2 | 5.33 | 2.50 ± 2.12 | 1.00 ± 0.00 |")
    assert vie.startswith("| vie | 1 | 4.67 | 0.50 | 1.00 |")
    assert mean.startswith("| mean |  | 5.00 | 1.50 | 1.00 |")


def without_exports(translator, folder):
    """Write no files, and spare their time."""


@pytest.mark.slow
@pytest.mark.tensorflow
def test_trains_tests_and_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pronounce, "export", without_exports)
    options = {"language": "kor", "output": tmp_path}
    found = pronounce.main(quick=True, **options)
    folder = tmp_path / "pronounce"
    (result,) = found["kor"]
    assert 0 <= result["wer"] <= 100
    assert 0 < result["minutes"] < 5
    assert (folder / "kor_0" / "attention.png").exists()
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


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_writes_files_for_phones_and_onnxruntime(tmp_path):
    pronounce.main(quick=True, output=tmp_path)
    folder = tmp_path / "pronounce" / "hun_0"
    for name in ("translator.tflite", "translator.onnx", "translator.json"):
        assert (folder / name).stat().st_size > 100
