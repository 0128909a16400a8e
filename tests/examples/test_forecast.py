import re
import sys

import forecast as example
import keras
import numpy as np
import pytest
from helpers import co2

pytestmark = pytest.mark.tensorflow

MONTHS, VALUES = co2.monthly()


def test_no_training_window_reaches_into_the_test():
    trained = int(np.searchsorted(MONTHS, example.SPLIT))
    assert str(MONTHS[trained - 1]) == "1987-12"
    count = np.arange(trained)
    origins = np.arange(example.PAST, trained - example.STEPS + 1)
    before, after = co2.windows(count, origins, example.PAST, example.STEPS)
    assert before.min() == 0
    assert after.max() == trained - 1
    assert (after[:, 0] == before[:, -1] + 1).all()


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
    assert "Largest difference after loading: 0e+00 ppm" in printed
    apart = re.search(r"Largest difference in onnxruntime: (\S+) ppm", printed)
    assert float(apart[1]) < 1e-3
    assert (tmp_path / "forecast.onnx").exists()
    assert printed.endswith(f"\nPicture: {picture}\n")
    model = keras.models.load_model(tmp_path / "forecast.keras")
    past = VALUES[None, -60:]
    lower, higher = (
        model.predict(x, verbose=0)["quantiles"] for x in (past, past + 100)
    )
    np.testing.assert_allclose(higher, lower + 100, atol=1e-3)
