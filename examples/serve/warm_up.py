"""Writes the requests that warm up a SavedModel when a server loads it.

The first request to a model is slow, because TensorFlow optimizes the graph
when it first runs. Before TensorFlow Serving accepts requests, it runs those in
the model's file `assets.extra/tf_serving_warmup_requests`. This script writes
the file:

    python examples/serve/warm_up.py outputs/dates/1

Run the script after each export, before you move the folder to the place where
a server looks for new versions.
"""

import argparse
import os
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

PLACE = Path("assets.extra", "tf_serving_warmup_requests")
MOST = 1000  # TensorFlow Serving takes no more
TEXTS = ["", "12 May 2021", "Thursday, February 29, 2024"]


def signatures(folder: Path) -> list[str]:
    """List the signatures whose only input is `text`."""
    content = (folder / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    found = graph.signature_def.items()
    return sorted(name for name, x in found if list(x.inputs) == ["text"])


def log(model: str, signature: str, batch: list[str]) -> bytes:
    """Serialize a request in the form in which a server logs it."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(batch, tf.string))
    content = prediction_log_pb2.PredictLog(request=request)
    entry = prediction_log_pb2.PredictionLog(predict_log=content)
    return entry.SerializeToString()


def main(
    folder: str | Path,
    texts: list[str] | None = None,
    model: str | None = None,
) -> Path:
    """Write requests of every text alone, and of all of them in one batch.

    Args:
        folder: The SavedModel, such as `outputs/dates/1`. Its file of requests
            is replaced as a whole, or stays as it was.
        texts: Texts such as clients send. Defaults to some dates.
        model: Name of the model. Defaults to the name of the parent folder.

    Returns:
        The file with the requests, for each signature.
    """
    folder = Path(folder)
    if not (folder / "saved_model.pb").exists():
        raise SystemExit(
            "A folder with a SavedModel is needed, such as "
            f"outputs/dates/1. Received: {folder}, which has no "
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
    parser.add_argument("folder", help="folder of one version of a model")
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--model", metavar="NAME")
    main(**vars(parser.parse_args()))
