"""examples/serve/warm_up.py, and that a model which loads is warmed up."""

import shutil
from pathlib import Path

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from serve import warm_up
    from tensorflow_serving.apis import prediction_log_pb2

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "dates" / "2"
    return shutil.copytree(ROOT / "saved_models" / "dates" / "1", folder)


@pytest.fixture
def servable(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples" / "serve")
    return pytest.importorskip("stand_in_models")


def requests(file):
    for record in tf.data.TFRecordDataset(str(file)):
        entry = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        yield entry.predict_log.request


def test_each_signature_gets_every_text_and_all_of_them(folder, capsys):
    file = warm_up.main(folder, ["a", "日"])
    assert file == folder / "assets.extra" / "tf_serving_warmup_requests"
    found = [
        (
            r.model_spec.signature_name,
            tf.make_ndarray(r.inputs["text"]).tolist(),
        )
        for r in requests(file)
    ]
    batches = [[b"a"], ["日".encode()], [b"a", "日".encode()]]
    names = ["align", "serving_default"]
    assert found == [(name, batch) for name in names for batch in batches]
    assert {r.model_spec.name for r in requests(file)} == {"dates"}
    assert "6 requests" in capsys.readouterr().out


@pytest.mark.slow
def test_a_server_replays_them_when_it_loads(folder, servable):
    warm_up.main(folder, ["a", "b"])
    assert servable.Servable(folder, "dates", 2).warmed_up == 6


def test_a_request_that_fails_keeps_the_model_from_being_served(
    folder, servable, monkeypatch
):
    monkeypatch.setattr(warm_up, "signatures", lambda _: ["nothing"])
    warm_up.main(folder)
    with pytest.raises(servable.Refusal, match="nothing"):
        servable.Servable(folder, "dates", 2)
