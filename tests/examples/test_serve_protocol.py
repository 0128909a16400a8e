"""examples/serve/stand_in_server.py speaks as TensorFlow Serving does."""

import json
import urllib.error
import urllib.request

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis import prediction_service_pb2_grpc


def post(server, content, path="/v1/models/dates:predict"):
    """Send what is no client's request; give the code and the JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content)
    body = body if isinstance(body, bytes) else body.encode()
    url = f"http://127.0.0.1:{server.rest}{path}"
    try:
        with urllib.request.urlopen(url, body, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="module")
def stub(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def predict_request(model="dates", **inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


@pytest.mark.parametrize(
    "content",
    [
        {"instances": ["12 May 2021"]},
        {"instances": [{"text": "12 May 2021"}]},
        {"instances": [{"text": {"b64": "MTIgTWF5IDIwMjE="}}]},
        {"inputs": {"text": ["12 May 2021"]}},
        {"inputs": [{"b64": "MTIgTWF5IDIwMjE="}], "signature_name": "align"},
    ],
)
def test_rows_answer_rows_and_columns_columns(server, content):
    code, answer = post(server, content)
    assert code == 200
    if "inputs" in content:
        assert answer["outputs"]["translations"] == [["2021-05-12"]]
    else:
        (row,) = answer["predictions"]
        assert set(row) == {"translations", "scores"}
        assert row["translations"] == ["2021-05-12"]


@pytest.mark.parametrize(
    ("content", "code", "path"),
    [
        ({"instances": [{}]}, 400, ""),
        ({"instances": [{"text": "1", "sentence": "1"}]}, 400, ""),
        ({"instances": [["1"], ["1", "2"]]}, 400, ""),
        ({"instances": []}, 400, ""),
        ({"instances": ["\ud800"]}, 400, ""),
        ({"inputs": "1"}, 400, ""),
        ({"inputs": ["1"], "signature_name": "nothing"}, 400, ""),
        (b"{", 400, ""),
        ({"inputs": ["1"]}, 404, "/v1/models/nobody:predict"),
        ({"inputs": ["1"]}, 404, "/v1/models/dates/versions/3:predict"),
        ({"inputs": ["1"]}, 200, "/v1/models/dates/versions/7:predict"),
        ({"inputs": ["1"]}, 400, "/v1/models/dates:translate"),
    ],
)
def test_rest_refuses_as_serving_does(server, content, code, path):
    found, answer = post(server, content, path or "/v1/models/dates:predict")
    assert found == code, answer
    assert ("error" in answer) == (code != 200)


@pytest.mark.slow
def test_grpc_gives_the_outputs_asked_for_of_the_highest_version(stub, server):
    request = predict_request(text=[b"12 May 2021"])
    request.output_filter.append("scores")
    response = stub.Predict(request)
    assert list(response.outputs) == ["scores"]
    assert response.model_spec.version.value == 7
    assert "dates/7, warmed up with 8 requests" in server.said
