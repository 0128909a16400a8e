"""Finds, loads and warms up models for `stand_in_server.py`. NOT Serving."""

from pathlib import Path

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  Serving has its operations built in
from google.protobuf import text_format
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2
from tensorflow_serving.config import model_server_config_pb2

WARM_UP = Path("assets.extra", "tf_serving_warmup_requests")
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Refusal(Exception):
    """Raised if a request is refused.

    Args:
        code: A gRPC status code.
        message: The reason.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message)
        self.code = code


class Servable:
    """One version of a model, in a session.

    Args:
        folder: The SavedModel.
        name: Name of the model.
        version: Its number.
    """

    def __init__(self, folder: Path, name: str, version: int):
        self.name, self.version = name, version
        v1 = tf.compat.v1
        self.session = v1.Session(graph=tf.Graph())
        load = v1.saved_model.loader.load
        with self.session.graph.as_default():
            content = load(self.session, ["serve"], str(folder))
        self.signatures = dict(content.signature_def)
        self.warmed_up = self._warm_up(folder / WARM_UP)

    def _warm_up(self, file):
        records = []
        if file.exists():
            records = list(tf.data.TFRecordDataset(str(file)))
        for record in records:
            entry = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            self.predict(entry.predict_log.request)
        return len(records)

    def predict(self, request):
        """Answer a PredictRequest with a PredictResponse."""
        name = request.model_spec.signature_name or "serving_default"
        signature = self.signatures.get(name)
        if signature is None:
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION, f"No signature {name!r}."
            )
        feeds = self._feeds(signature, request.inputs)
        wanted = list(request.output_filter) or list(signature.outputs)
        unknown = [x for x in wanted if x not in signature.outputs]
        if unknown:
            raise Refusal(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"No outputs {unknown} in {sorted(signature.outputs)}.",
            )
        fetches = {key: signature.outputs[key].name for key in wanted}
        try:
            found = self.session.run(fetches, feeds)
        except tf.errors.OpError as error:
            raise Refusal(CODES[error.error_code], error.message) from error
        except (TypeError, ValueError) as error:
            code = grpc.StatusCode.INVALID_ARGUMENT
            raise Refusal(code, str(error)) from error
        response = predict_pb2.PredictResponse()
        response.model_spec.name = self.name
        response.model_spec.version.value = self.version
        response.model_spec.signature_name = name
        for key, value in found.items():
            dtype = tf.as_dtype(signature.outputs[key].dtype)
            proto = tf.make_tensor_proto(value, dtype, np.shape(value))
            response.outputs[key].CopyFrom(proto)
        return response

    def _feeds(self, signature, inputs):
        given, needed = set(inputs), set(signature.inputs)
        if given != needed:
            raise Refusal(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"Inputs do not match the signature. Missing: "
                f"{sorted(needed - given)}. Unknown: {sorted(given - needed)}.",
            )
        feeds = {}
        for key, info in signature.inputs.items():
            if inputs[key].dtype != info.dtype:
                raise Refusal(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    f"{key!r} has to be {tf.as_dtype(info.dtype).name}.",
                )
            feeds[info.name] = tf.make_ndarray(inputs[key])
        return feeds


class Models:
    """Holds all models of a server.

    Args:
        config_file: A ModelServerConfig, as text.
        models: The folder that stands for `/models`.
    """

    def __init__(self, config_file: str | Path, models: str | Path):
        text = Path(config_file).read_text(encoding="utf-8")
        config = model_server_config_pb2.ModelServerConfig()
        text_format.Parse(text, config)
        self.versions = {}  # name -> number -> Servable
        for model in config.model_config_list.config:
            base = Path(model.base_path)
            if base.is_relative_to("/models"):
                base = Path(models) / base.relative_to("/models")
            self.versions[model.name] = {
                number: Servable(base / str(number), model.name, number)
                for number in chosen(base, model.model_version_policy)
            }

    def find(self, spec) -> Servable:
        """Find the version that a ModelSpec names, or the highest one."""
        versions = self.versions.get(spec.name, {})
        has = spec.HasField("version")
        number = spec.version.value if has else max(versions, default=None)
        if number not in versions:
            which = f"{spec.name!r}" + (f", version {number}" if has else "")
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"No model {which}.")
        return versions[number]

    def predict(self, request):
        """Answer a PredictRequest with a PredictResponse."""
        return self.find(request.model_spec).predict(request)


def chosen(base: Path, policy) -> list[int]:
    """List the versions in a model's folder that a policy selects."""
    there = sorted(
        int(folder.name)
        for folder in base.glob("*")
        if folder.is_dir() and folder.name.isdigit()
    )
    if policy.WhichOneof("policy_choice") == "specific":
        there = [n for n in there if n in policy.specific.versions]
    elif policy.WhichOneof("policy_choice") != "all":
        there = there[-max(1, policy.latest.num_versions) :]
    if not there:
        raise SystemExit(f"{base} has no folder of a version, such as 1.")
    return there
