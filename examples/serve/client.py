"""Asks a model server for translations, by gRPC or by REST.

    python examples/serve/client.py "12 May 2021" "le 29 février 2024"
    python examples/serve/client.py "12 May 2021" --rest
    python examples/serve/client.py "12 May 2021" --align

The client needs neither `keras_attention` nor Keras. REST needs only Python.
gRPC needs the protocol of TensorFlow Serving, which is in the extra `serving`.
"""

import argparse
import base64
import importlib
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException

PORTS = {"gRPC": 8500, "REST": 8501}
SIGNATURES = {False: "serving_default", True: "align"}  # by `align`


class ClientError(Exception):
    """Raised if there is no answer; the message says why, and what to do."""


def no_server(where: str) -> ClientError:
    """Make the error that says how to start a server."""
    return ClientError(
        f"No server answers at {where}. Start one as examples/serve/README.md "
        "shows, or name another with --host and --port."
    )


def ask_rest(texts: list[bytes], align: bool, where: str, model: str, timeout):
    """Send texts as JSON.

    Args:
        texts: Texts to translate. Those that are not UTF-8 go as base64.
        align: Whether to ask for tokens and attention as well.
        where: Host and port.
        model: Name of the model.
        timeout: Seconds to wait for the answer.

    Returns:
        A dict of outputs for every text.

    Raises:
        ClientError: If the server cannot be reached, or answers with an error.
    """
    content = {
        "signature_name": SIGNATURES[align],
        "instances": [{"text": as_json(text)} for text in texts],
    }
    name = urllib.parse.quote(model, safe="")
    url = f"http://{where}/v1/models/{name}:predict"
    request = urllib.request.Request(url, json.dumps(content).encode())
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)["predictions"]
    except urllib.error.HTTPError as error:
        said = f"HTTP {error.code}: {reason(error.read())}"
        raise ClientError(f"{url} says: {said}") from error
    except (OSError, HTTPException) as error:
        if isinstance(getattr(error, "reason", error), TimeoutError):
            said = f"{url} gives no answer in {timeout} seconds."
            raise ClientError(said) from error
        raise no_server(f"{url} ({error})") from error
    except (ValueError, LookupError, TypeError) as error:
        said = f"{url} is no TensorFlow Serving: it answers {error!r}."
        raise ClientError(said) from error


def reason(body: bytes) -> str:
    """Read the error message in an answer, or return the whole answer."""
    try:
        return json.loads(body)["error"]
    except (ValueError, LookupError, TypeError):
        return body.decode(errors="replace")


def as_json(text: bytes) -> str | dict[str, str]:
    """Return a text as JSON, in base64 if it is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text).decode()}


def ask_grpc(texts: list[bytes], align: bool, where: str, model: str, timeout):
    """Send texts as a protocol buffer; the rest as in `ask_rest`."""
    tf, grpc = load("tensorflow"), load("grpc")
    messages = load("tensorflow_serving.apis.predict_pb2")
    stubs = load("tensorflow_serving.apis.prediction_service_pb2_grpc")
    request = messages.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = SIGNATURES[align]
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts, tf.string))
    no_limit = [("grpc.max_receive_message_length", -1)]  # else 4 MB
    try:
        with grpc.insecure_channel(where, no_limit) as channel:
            stub = stubs.PredictionServiceStub(channel)
            outputs = stub.Predict(request, timeout=timeout).outputs
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise no_server(f"{where} ({error.details()})") from error
        raise ClientError(
            f"{where} says: {error.code().name}: {error.details()}"
        ) from error
    columns = {
        name: as_text(tf.make_ndarray(proto).tolist())
        for name, proto in outputs.items()
    }
    return [
        {name: column[i] for name, column in columns.items()}
        for i in range(len(texts))
    ]


def load(module: str):
    """Import a module that only gRPC needs."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ClientError(
            f"gRPC needs `{module}`, which is not installed. Install it with: "
            'pip install "keras-rnn-attention[serving]". Or ask with --rest.'
        ) from error


def as_text(value):
    """Turn bytes into strings, also in nested lists."""
    if isinstance(value, list):
        return [as_text(entry) for entry in value]
    return value.decode() if isinstance(value, bytes) else value


def show(text: str, row: dict):
    """Print translations, best first, and where each of their tokens looked."""
    print(text)
    for n, (translation, score) in enumerate(
        zip(row["translations"], row["scores"], strict=True)
    ):
        print(f"  {score:8.4f}  {translation}")
        if "attention" not in row:
            continue
        weights = row["attention"][n]
        for token, looks in zip(row["target_tokens"][n], weights, strict=True):
            if token:  # the rest is padding
                most = max(range(len(looks)), key=looks.__getitem__)
                seen = row["source_tokens"][most]
                print(f"    {token!r} looks at {seen!r} ({looks[most]:.0%})")


def main(
    texts: list[str],
    rest: bool = False,
    align: bool = False,
    host: str = "localhost",
    port: int | None = None,
    model: str = "dates",
    timeout: float = 10.0,
) -> list[dict]:
    """Translate texts in one request, and print the translations.

    Args:
        texts: Texts to translate.
        rest: Whether to use REST instead of gRPC.
        align: Whether to ask for tokens and attention as well.
        host: Host of the server.
        port: Its port. Defaults to 8500 for gRPC, 8501 for REST.
        model: Name of the model.
        timeout: Seconds to wait for the answer.

    Returns:
        The outputs of every text by their names: `translations` and
        `scores`, best first; with `align` also `source_tokens`,
        `target_tokens` and `attention`.
    """
    ask = ask_rest if rest else ask_grpc
    where = f"{host}:{port or PORTS['REST' if rest else 'gRPC']}"
    sent = [os.fsencode(text) for text in texts]
    rows = ask(sent, align, where, model, timeout)
    for text, row in zip(sent, rows, strict=True):
        show(text.decode(errors="replace"), row)
    return rows


def arguments(given: list[str] | None = None) -> dict:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="+", metavar="TEXT")
    parser.add_argument(
        "--rest", action="store_true", help="use REST instead of gRPC"
    )
    parser.add_argument("--align", action="store_true")
    parser.add_argument("--host", default="localhost")
    parser.add_argument(
        "--port", type=int, help="port (default: 8500 for gRPC, 8501 for REST)"
    )
    parser.add_argument("--model", default="dates")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S")
    return vars(parser.parse_args(given))


if __name__ == "__main__":
    try:
        main(**arguments())
    except ClientError as error:
        sys.exit(str(error))
