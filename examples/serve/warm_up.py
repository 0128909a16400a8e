"""Gives a SavedModel the requests that warm it up when a server loads it.

The first request to a model is slow: TensorFlow prepares much of what it runs
only then. TensorFlow Serving sends what stands in the model's folder,
`assets.extra/tf_serving_warmup_requests`, before it lets a client in:

    python examples/serve/warm_up.py saved_models/dates/1

Run it after each export, before the folder is where a server looks for it.
"""

import argparse
import os
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

PLACE = Path("assets.extra", "tf_serving_warmup_requests")
MOST = 1000  # more are not served
TEXTS = ["", "12 May 2021", "Thursday, February 29, 2024"]


def signatures(folder: Path) -> list[str]:
    """Name the signatures whose one input is `text`."""
    content = (folder / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    found = graph.signature_def.items()
    return sorted(name for name, x in found if list(x.inputs) == ["text"])


def log(model: str, signature: str, batch: list[str]) -> bytes:
    """Write a request as a server logs it."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(batch, tf.string))
    content = prediction_log_pb2.PredictLog(request=request)
    entry = prediction_log_pb2.PredictionLog(predict_log=content)
    return entry.SerializeToString()


def main(folder: str, texts: list[str] | None = None, model=None) -> Path:
    """Write every text alone, and all of them at once, for each signature.

    Args:
        folder: The SavedModel, such as `saved_models/dates/1`. It gets all
            requests or none: what is there before stays until the end.
        texts: Texts such as clients send. Defaults to some dates.
        model: Its name. Defaults to the name of the folder above.

    Returns:
        The file with the requests.
    """
    folder = Path(folder)
    if not (folder / "saved_model.pb").exists():
        raise SystemExit(
            "A folder with a SavedModel is needed, such as "
            f"saved_models/dates/1. Received: {folder}, which has no "
            "`saved_model.pb`."
        )
    texts = texts or TEXTS
    model = model or folder.resolve().parent.name
    records = [
        log(model, signature, batch)
        for signature in signatures(folder)
        for batch in [*([text] for text in texts), texts]
    ]
    if len(records) > MOST:
        raise SystemExit(
            f"TensorFlow Serving takes {MOST} requests. Received: "
            f"{len(texts)} texts, which make {len(records)}. Give fewer."
        )
    file = folder / PLACE
    file.parent.mkdir(exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        with tf.io.TFRecordWriter(str(draft)) as writer:
            for record in records:
                writer.write(record)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    print(f"{len(records)} requests in {file}")
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="of one version of a model")
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--model", metavar="NAME")
    main(**vars(parser.parse_args()))
