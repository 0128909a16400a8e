"""Stands in for TensorFlow Serving, to try clients. It is NOT Serving.

    python examples/serve/stand_in_server.py

It uses the same protocols, reads the same `model.config` and folders of
versions, replays the warm-up requests of a model, runs models with the same
session loader, and returns the same error codes. It has no batching, no
reloading, no labels of versions, no limits and no security: for production use
TensorFlow Serving itself, as README.md shows.
"""

import argparse
import signal
import threading
from concurrent import futures
from pathlib import Path

import grpc
from stand_in_models import Models
from stand_in_models import Refusal
from stand_in_rest import RestServer
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

HERE = Path(__file__).parent
NO_LIMIT = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers Predict and GetModelMetadata requests by gRPC.

    Args:
        models: The `Models` to serve.
    """

    def __init__(self, models: Models):
        self.models = models

    def Predict(self, request, context):
        try:
            return self.models.predict(request)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))

    def GetModelMetadata(self, request, context):
        if list(request.metadata_field) != ["signature_def"]:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                "Ask for the metadata_field 'signature_def'.",
            )
        try:
            found = self.models.find(request.model_spec)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.model_spec.name = found.name
        response.model_spec.version.value = found.version
        content = get_model_metadata_pb2.SignatureDefMap()
        for name, signature in found.signatures.items():
            content.signature_def[name].CopyFrom(signature)
        response.metadata["signature_def"].Pack(content)
        return response


def main(
    model_config_file: str | Path = HERE / "model.config",
    models: str | Path = HERE.parents[1] / "saved_models",
    host: str = "127.0.0.1",
    port: int = 8500,
    rest_api_port: int = 8501,
):
    """Serve until a signal stops it.

    Args:
        model_config_file: The list of models to serve.
        models: The folder that stands for `/models` in this file.
        host: Address to listen at. By default only this machine can connect.
        port: Port of gRPC; 0 takes a free one and prints it.
        rest_api_port: Port of REST, likewise.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    print("This is a stand-in, NOT TensorFlow Serving.", flush=True)
    served = Models(model_config_file, models)
    for name, versions in served.versions.items():
        for number, servable in versions.items():
            count = servable.warmed_up
            print(f"{name}/{number}, warmed up with {count} requests")
    server = grpc.server(futures.ThreadPoolExecutor(4), options=NO_LIMIT)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(served), server
    )
    port = server.add_insecure_port(f"{host}:{port}")
    rest = RestServer((host, rest_api_port), served)
    server.start()
    threading.Thread(target=rest.serve_forever, daemon=True).start()
    print(f"gRPC on port {port}, REST on port {rest.server_port}", flush=True)
    stop.wait()
    rest.shutdown()
    rest.server_close()
    server.stop(grace=1).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model_config_file", metavar="FILE")
    parser.add_argument(
        "--models", metavar="DIR", help="folder that takes the place of /models"
    )
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--rest_api_port", type=int)
    given = vars(parser.parse_args()).items()
    main(**{name: value for name, value in given if value is not None})
