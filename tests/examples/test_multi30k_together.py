"""multi30k_together.py: from saved translators to the report of all."""

import re

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import multi30k_together as example
    from helpers import multi30k_report

    from keras_attention import Ensemble
    from keras_attention import Translator


@pytest.mark.slow
def test_it_joins_measures_and_exports(tmp_path, capsys, monkeypatch):
    exported = []

    def export(translator, folder, sides, language):  # it has its own test
        exported.append((folder, len(sides[0]), language))

    monkeypatch.setattr(multi30k_report, "PENALTIES", (0.6,))
    for name, value in {
        "export_all": export,
        "UNITS": 8,
        "BATCH": 8,
        "WEIGHTS": (0.0, 0.1),
    }.items():
        monkeypatch.setattr(example, name, value)
    folder = tmp_path / "both"
    score = example.main(quick=True, epochs=1, export=tmp_path, folder=folder)
    assert score.startswith("BLEU = ")
    assert exported == [(tmp_path, 6, "en")]
    tried = re.findall(
        r"^Language model x (.*): .* on (.*)$", capsys.readouterr().out, re.M
    )
    assert [part for _, part in tried] == ["val", "val", "test_2016_flickr"]
    assert [weight for weight, _ in tried[:2]] == ["0.0", "0.1"]
    assert (folder / "report.md").exists()
    model = Translator.load(folder / "translator").model
    assert isinstance(model, Ensemble)
    assert len(model.models) == 2
    fused = Translator.load(folder / "with_language_model").model
    assert str(fused.weight) == tried[2][0]
