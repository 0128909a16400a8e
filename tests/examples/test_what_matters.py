"""what_matters.py: a row for each change, and each trained once."""

import keras
import pytest
from tiers import THOROUGH

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import what_matters as example


@pytest.mark.slow
@pytest.mark.parametrize("really", [False, pytest.param(True, marks=THOROUGH)])
def test_rows_that_are_done_are_not_trained_again(
    tmp_path, monkeypatch, really
):
    trained, real = [], example.run

    def run(recipe, *arguments):
        trained.append(recipe.attention)
        if len(trained) == 2:
            raise KeyboardInterrupt
        if really and len(trained) == 3:
            return real(recipe, *arguments)
        scores = {"Moses": 1.25, "13a": 2.5, "minutes": 0.5}
        return {**scores, "CPU minutes": 1.0}

    monkeypatch.setattr(example, "run", run)
    with pytest.raises(KeyboardInterrupt):
        example.main(quick=True, folder=tmp_path)
    assert "| the recipe " in (tmp_path / "what_matters.md").read_text()
    table = example.main(quick=True, folder=tmp_path)
    assert trained == ["additive", "general", "general"]
    assert table == (tmp_path / "what_matters.md").read_text()
    lines = table.splitlines()
    assert len(lines) == 4
    assert [x.strip() for x in lines[2].split("|")[2:5]] == [
        "1.2",
        "2.5",
        "0.5",
    ]
    with pytest.raises(SystemExit, match="other arguments"):
        example.main(quick=True, folder=tmp_path, seed=3)
