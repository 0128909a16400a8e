"""Size, time and differences of models that `export_model` has written.

    python benchmarks/exported_models.py

Each model answers one request at a time on one core: as a file of every format
and quantization, as what `Model.export` of Keras writes, and by `predict`. All
are timed alternately. It prints the rows of the table in the guide to exports,
and needs the extras `litert` and `onnx`.
"""

import argparse
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import onnxruntime
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers

import keras_attention as ka

UNITS, WORDS, VOCABULARY = 64, 40, 5000
SAMPLES = 100
FORMATS = {
    "SavedModel": ("{}", None),
    "LiteRT": ("{}.tflite", None),
    "LiteRT float16": ("{}_16.tflite", "float16"),
    "LiteRT int8": ("{}_8.tflite", "int8"),
    "LiteRT full_int8": ("{}_full.tflite", "full_int8"),  # without loops
    "ONNX": ("{}.onnx", None),
    "ONNX int8": ("{}_8.onnx", "int8"),
}


def classifier(make) -> keras.Model:
    """A classifier of words by a recurrent layer and attention pooling."""
    ids = keras.Input((None,), dtype="int32", name="words")
    x = layers.Embedding(VOCABULARY, UNITS, mask_zero=True)(ids)
    x = layers.Bidirectional(make(UNITS, return_sequences=True))(x)
    return keras.Model(ids, layers.Dense(4)(ka.AttentionPooling(UNITS)(x)))


def self_attention() -> keras.Model:
    """A classifier of words by one block of self-attention."""
    ids = keras.Input((None,), dtype="int32", name="words")
    x = layers.Embedding(VOCABULARY, UNITS, mask_zero=True)(ids)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
    return keras.Model(ids, layers.Dense(4)(layers.GlobalMaxPooling1D()(x)))


def forecaster() -> keras.Model:
    """A forecast of 24 steps from 40, by an attention decoder."""
    past = keras.Input((WORDS, 1), name="past")
    memory, *states = ka.RecurrentEncoder(UNITS // 2, cell="gru")(past)
    cell = layers.GRUCell(UNITS)
    cell = ka.AttentionDecoderCell(cell, ka.BahdanauAttention(UNITS // 2))
    run = ka.FreeRunningDecoder(ka.AttentionDecoder(cell), layers.Dense(1), 24)
    return keras.Model(past, run(past[:, -1], memory, ka.StateBridge()(states)))


MODELS = {
    "classifier, LSTM": lambda: classifier(layers.LSTM),
    "classifier, GRU": lambda: classifier(layers.GRU),
    "classifier, self-attention": self_attention,
    "forecaster": forecaster,
}


def load(path: Path):
    """Load a file; return a function from an array to an array."""
    if path.suffix == ".tflite":
        interpreter = Interpreter(str(path), num_threads=1)
        run = interpreter.get_signature_runner("serving_default")
        (name,) = run.get_input_details()
        return lambda x: next(iter(run(**{name: x}).values()))
    if path.suffix == ".onnx":
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options)
        (found,) = session.get_inputs()
        return lambda x: session.run(None, {found.name: x})[0]
    served = tf.saved_model.load(path)
    run = served.signatures["serving_default"]
    (name,) = run.structured_input_signature[1]

    def answer(x, _=served):  # which keeps its variables
        return next(iter(run(**{name: tf.constant(x)}).values())).numpy()

    return answer


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def milliseconds(runs: dict, x: np.ndarray, count: int) -> dict[str, float]:
    """Time functions, each time in another order: the median of each."""
    times, draw = {name: [] for name in runs}, np.random.default_rng(0)
    for _ in range(count):
        for name in draw.permutation(list(runs)):
            began = time.perf_counter()
            runs[name](x)
            times[name].append(1000 * (time.perf_counter() - began))
    return {name: float(np.median(each)) for name, each in times.items()}


def measure(kind: str, model: keras.Model, folder: Path, count: int):
    """Print the rows of one model."""
    (spec,), draw = model.inputs, np.random.default_rng(0)
    sample = draw.normal(size=(SAMPLES, WORDS, 1)).astype("float32")
    if spec.dtype == "int32":
        sample = draw.integers(1, VOCABULARY, (SAMPLES, WORDS)).astype("int32")
    x = sample[:1]
    paths = {}
    for name, (pattern, quantize) in FORMATS.items():
        path = folder / pattern.format("ours")
        try:
            ka.export_model(model, path, sample=sample, quantize=quantize)
        except ValueError as error:
            print(f"| {kind} | {name} | refused: {error}")
            continue
        paths[name] = path
    paths["SavedModel of Keras"] = folder / "keras"
    paths["ONNX of Keras"] = folder / "keras.onnx"
    model.export(folder / "keras", verbose=False)
    model.export(folder / "keras.onnx", format="onnx", verbose=False)
    runs = {name: load(path) for name, path in paths.items()}
    runs["predict"] = lambda x: model.predict(x, verbose=0)
    wanted = model(x).numpy()
    apart = {name: np.abs(run(x) - wanted).max() for name, run in runs.items()}
    for name, ms in milliseconds(runs, x, count).items():
        path = paths.get(name)
        kilobytes = "" if path is None else f"{size(path) / 1000:,.0f}"
        row = f"{kilobytes} | {ms:.2f} | {apart[name]:.0e} |"
        print(f"| {kind} | {name} | {row}", flush=True)


def main(runs: int, only: str = ""):
    """Print a table, of the models whose names have a word."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(0)
    print("| model | format | kB | ms | greatest difference |")
    print("| --- | --- | ---: | ---: | ---: |")
    for kind, make in MODELS.items():
        if only not in kind:
            continue
        with tempfile.TemporaryDirectory() as folder:
            measure(kind, make(), Path(folder), runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default="", help="models of this name")
    main(**vars(parser.parse_args()))
