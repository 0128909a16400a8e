import re
import sys

import co2
import forecast as example
import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

MONTHS, VALUES = co2.monthly()
SEASONS = np.tile(np.arange(12.0), 10)  # ten years that are all the same


def test_no_training_window_reaches_into_the_test():
    trained = int(np.searchsorted(MONTHS, example.SPLIT))
    assert str(MONTHS[trained - 1]) == "1987-12"
    count = np.arange(trained)
    origins = np.arange(example.PAST, trained - example.STEPS + 1)
    before, after = co2.windows(count, origins, example.PAST, example.STEPS)
    assert before.min() == 0
    assert after.max() == trained - 1
    assert (after[:, 0] == before[:, -1] + 1).all()


@pytest.mark.parametrize("grow", [False, True])
def test_the_last_season_is_right_where_years_are_alike(grow):
    growth = np.arange(120.0) if grow else 0.0
    origins = np.array([36, 50, 96])
    found = co2.last_season(SEASONS + growth, origins, 24, grow=grow)
    wanted = co2.windows(SEASONS + growth, origins, 12, 24)[1]
    np.testing.assert_allclose(found, wanted)


def test_what_is_known_is_all_that_is_used():
    changed = VALUES.copy()
    changed[400:] = 0.0
    others = 358, np.array([400]), 24
    for grow in (False, True):
        found = co2.with_quantiles(VALUES, *others, grow=grow)
        again = co2.with_quantiles(changed, *others, grow=grow)
        np.testing.assert_array_equal(found, again)
        assert (np.diff(found) >= 0).all()


def test_scores_are_those_of_the_definitions():
    truth = np.zeros((2, 24))
    forecast = np.stack([truth - 1, truth + 0.5, truth + 2], axis=-1)
    forecast[:, 12:] += 3  # the second year: all too high
    found = co2.scores(forecast, truth, scale=2.0)
    first = (0.1 * 1 + 0.5 * 0.5 + 0.1 * 2) / 3
    second = (0.9 * 2 + 0.5 * 3.5 + 0.1 * 5) / 3
    assert found == pytest.approx(
        {
            "MAE year 1": 0.5,
            "year 2": 3.5,
            "MASE": 1.0,
            "pinball": (first + second) / 2,
            "inside": 0.5,
        }
    )
    loss = example.pinball_loss(truth, forecast)
    assert float(loss) == pytest.approx(found["pinball"])


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets.co2", None)
    with pytest.raises(ImportError, match=r"keras-rnn-attention\[forecast\]"):
        co2.monthly()


@pytest.mark.thorough
def test_it_runs(tmp_path, capsys):
    found = example.main(quick=True, output=tmp_path)
    assert list(found) == [
        "last season",
        "last season and growth",
        "ETS",
        "attention",
    ]
    for quantiles in found.values():
        assert quantiles.shape == (3, 24, 3)
        assert (np.diff(quantiles) >= 0).all()
    picture = tmp_path / "forecast.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "Loaded again: at most 0e+00 ppm apart" in printed
    apart = re.search(r"In onnxruntime: at most (\S+) ppm apart", printed)
    assert float(apart[1]) < 1e-3
    assert (tmp_path / "forecast.onnx").exists()
    assert printed.endswith(f"\nPicture: {picture}\n")
    model = keras.models.load_model(tmp_path / "forecast.keras")
    past = VALUES[None, -60:]
    lower, higher = (
        model.predict(x, verbose=0)["quantiles"] for x in (past, past + 100)
    )
    np.testing.assert_allclose(higher, lower + 100, atol=1e-3)
