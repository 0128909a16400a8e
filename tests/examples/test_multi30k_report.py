"""helpers/multi30k_report.py: counted tokens, and exported files."""

import keras
import pytest
from tiers import some

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from helpers import multi30k_report as example
    from tiny import tiny_translator


def test_only_the_cased_score_minds_case():
    wanted = [
        "Ein Mann und eine Frau gehen .",
        "Zwei Hunde spielen im Schnee .",
    ]
    found = [text.lower() for text in wanted]
    scores = example.measure(found, wanted, "de")
    assert scores["moses"].score == pytest.approx(100)
    assert scores["13a"].score < 50
    assert scores["chrF"].score < 100
    assert "case:mixed" in example.signatures()


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("form", some(["litert", "onnx", "tf_saved_model"], 1))
def test_exported_files_are_measured(tmp_path, monkeypatch, capsys, form):
    one = {form: (example.EXPORTS[form][0], {})}
    monkeypatch.setattr(example, "EXPORTS", one)
    sources = ["12", "9081", "7"]
    translator = tiny_translator()
    wanted = translator(sources)
    example.export(translator, tmp_path, [sources, wanted], "en")
    assert f"{form}: {tmp_path}" in capsys.readouterr().out
    found = example.run_file(tmp_path / one[form][0], form, translator)
    assert found(sources) == wanted
