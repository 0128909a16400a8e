"""The REST side of `stand_in_server.py`: JSON in, JSON out. NOT Serving.

A request has `instances`, a row for each text, or `inputs`, a column for each
input; the answer has `predictions` or `outputs` of the same form. Bytes that
are not UTF-8 are written as `{"b64": "..."}`, and so are outputs whose name
ends in `_bytes`.
"""

import base64
import json
import re
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

import grpc
import numpy as np
import tensorflow as tf
from stand_in_models import Refusal
from tensorflow_serving.apis import predict_pb2

INVALID = grpc.StatusCode.INVALID_ARGUMENT
PATH = r"/v1/models/([^/:]+)(?:/versions/(\d+))?"
HTTP = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.UNIMPLEMENTED: 501,
}  # 500 otherwise


def read_request(body: bytes, request, models) -> bool:
    """Fill a request with the content of JSON.

    Args:
        body: The JSON.
        request: A PredictRequest that names the model.
        models: The `Models` of the server.

    Returns:
        Whether the answer has to be in rows.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(INVALID, f"This is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise Refusal(INVALID, "The JSON has to be an object.")
    name = content.get("signature_name", "serving_default")
    signatures = models.find(request.model_spec).signatures
    signature = signatures.get(name) if isinstance(name, str) else None
    if signature is None:
        raise Refusal(INVALID, f"No signature {name!r}.")
    request.model_spec.signature_name = name
    in_rows = "instances" in content
    if in_rows == ("inputs" in content):
        raise Refusal(INVALID, "Give either 'instances' or 'inputs'.")
    read = rows_to_columns if in_rows else named_columns
    columns = read(
        content["instances" if in_rows else "inputs"], list(signature.inputs)
    )
    for key, column in columns.items():
        dtype = tf.as_dtype(signature.inputs[key].dtype)
        try:
            proto = tf.make_tensor_proto(as_bytes(column), dtype)
        except (TypeError, ValueError) as error:
            raise Refusal(INVALID, f"{key!r}: {error}") from error
        request.inputs[key].CopyFrom(proto)
    return in_rows


def rows_to_columns(rows, names: list[str]) -> dict[str, list]:
    """Read `instances`: dicts of inputs, or values of the only input."""
    if not isinstance(rows, list) or not rows:
        raise Refusal(INVALID, "'instances' has to be a list, not empty.")
    if len(names) == 1 and not any(is_named(row) for row in rows):
        rows = [{names[0]: row} for row in rows]
    for i, row in enumerate(rows):
        if not is_named(row) or set(row) != set(names):
            raise Refusal(INVALID, f"Instance {i} has to have keys {names}.")
    return {name: [row[name] for row in rows] for name in names}


def named_columns(columns, names: list[str]) -> dict[str, list]:
    """Read `inputs`: a dict of columns, or the only column."""
    if not is_named(columns) and len(names) == 1:
        columns = {names[0]: columns}
    there = columns if isinstance(columns, dict) else {}
    missing = [name for name in names if name not in there]
    if missing:
        raise Refusal(INVALID, f"'inputs' has to have {missing}.")
    return {name: columns[name] for name in names}


def is_named(value) -> bool:
    """Whether a value is a dict of inputs, not a value or base64."""
    return isinstance(value, dict) and set(value) != {"b64"}


def as_bytes(value):
    """Turn strings and base64 into bytes, also in nested lists."""
    if isinstance(value, list):
        return [as_bytes(entry) for entry in value]
    if isinstance(value, dict):
        return base64.b64decode(value["b64"], validate=True)
    return value.encode() if isinstance(value, str) else value


def write_answer(response, in_rows: bool) -> dict:
    """Turn a PredictResponse into content for JSON."""
    columns = {
        name: as_json(tf.make_ndarray(proto), name.endswith("_bytes"))
        for name, proto in sorted(response.outputs.items())
    }
    (first, *more) = columns.values()
    if not in_rows:
        return {"outputs": columns if more else first}
    if not more:
        return {"predictions": first}
    rows = zip(*columns.values(), strict=True)
    return {
        "predictions": [dict(zip(columns, row, strict=True)) for row in rows]
    }


def as_json(value, as_base64: bool):
    """Turn an array into lists, with floats in their shortest form."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [as_json(entry, as_base64) for entry in value]
    value = value.item() if isinstance(value, np.ndarray) else value
    if isinstance(value, bytes):
        if as_base64:
            return {"b64": base64.b64encode(value).decode()}
        return value.decode(errors="replace")
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


class RestServer(ThreadingHTTPServer):
    """Answers REST requests.

    Args:
        address: Host and port.
        models: The `Models` to serve.
    """

    def __init__(self, address: tuple[str, int], models):
        super().__init__(address, Handler)
        self.models = models


class Handler(BaseHTTPRequestHandler):
    """Handles one connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer("", self.state)

    def do_POST(self):
        self.answer(":predict", self.predict)

    def state(self, request, _):
        found = self.server.models.find(request.model_spec)
        fine = {"error_code": "OK", "error_message": ""}
        version = {"version": str(found.version), "state": "AVAILABLE"}
        return {"model_version_status": [{**version, "status": fine}]}

    def predict(self, request, body):
        models = self.server.models
        in_rows = read_request(body, request, models)
        return write_answer(models.predict(request), in_rows)

    def answer(self, verb, respond):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            code, content = 200, respond(read_path(self.path, verb), body)
        except Refusal as refusal:
            code = HTTP.get(refusal.code, 500)
            content = {"error": str(refusal)}
        written = json.dumps(content, indent=1, ensure_ascii=False).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_):
        """Log nothing."""


def read_path(path: str, verb: str):
    """Read the model, and the version if any, that a path names."""
    found = re.fullmatch(PATH + verb, path)
    if not found:
        raise Refusal(INVALID, f"Malformed request: {path}")
    request = predict_pb2.PredictRequest()
    request.model_spec.name = found[1]
    if found[2]:
        request.model_spec.version.value = int(found[2])
    return request
