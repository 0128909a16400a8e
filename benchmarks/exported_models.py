"""Size, time and differences of models that `export_model` has written.

    python benchmarks/exported_models.py

Each model answers one request at a time on one core: as a file of every format
and quantization, as what `Model.export` of Keras writes, and by `predict`. All
are timed alternately. Files of the captioner have the search inside:
`Translator.export` writes them, and `translator(images)` and the scores of its
captions are what they are compared with. It prints the rows of the table in the
guide to exports, and needs the extras `litert` and `onnx`. The speller has the
sizes of the shipped pronouncer, and writes 8 tokens by 3 beams.

    python benchmarks/exported_models.py --only speller --keep FOLDER
    python benchmarks/exported_models.py --only speller --before FOLDER --cpu

compares ONNX files with those that another version of this package has written.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
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


def captioner() -> ka.Translator:
    """A greedy captioner of images of 48 x 48 pixels, of 12 words at most."""

    def encode(image):
        for filters in (UNITS // 2, UNITS, UNITS):
            image = layers.Conv2D(filters, 4, 2, "same", activation="relu")(
                image
            )
        grid = layers.Reshape((36, UNITS))(image)
        mean = layers.GlobalAveragePooling1D()(grid)
        return grid, mean, mean

    image = keras.Input((48, 48, 3))
    cell = layers.LSTMCell(UNITS)
    tokenizer = ka.SymbolTokenizer([f"word{i}" for i in range(500)])
    model = ka.Seq2Seq(
        target_vocabulary_size=tokenizer.vocabulary_size,
        embedding_dim=UNITS,
        encoder=keras.Model(image, encode(image)),
        bridge=ka.StateBridge(units=UNITS, bidirectional=False),
        decoder=ka.AttentionDecoder(
            ka.AttentionDecoderCell(cell, ka.BahdanauAttention(UNITS))
        ),
    )
    ids = np.ones((1, 12), "int32")
    model.compile("adam", ka.SequenceCrossentropy())
    model.fit((np.zeros((1, 48, 48, 3), "float32"), ids), ids, verbose=0)
    return ka.Translator(model, None, tokenizer, ka.GreedySearch(12))


def speller() -> ka.Translator:
    """A model of the sizes of the shipped pronouncer, with random weights."""
    letters, sounds = (
        ka.SymbolTokenizer([f"{side}{i}" for i in range(size)])
        for side, size in (("letter", 28), ("sound", 69))
    )
    cell = ka.AttentionDecoderCell(
        layers.LSTMCell(480),
        ka.BahdanauAttention(240),
        attention_layer_size=240,
    )
    model = ka.Seq2Seq(
        source_vocabulary_size=letters.vocabulary_size,
        target_vocabulary_size=sounds.vocabulary_size,
        embedding_dim=240,
        encoder=ka.RecurrentEncoder(240),
        bridge=ka.StateBridge(),
        decoder=ka.AttentionDecoder(cell),
        tie_embeddings=True,
    )
    model.build(((None, None), (None, None)))
    search = ka.BeamSearch(3, max_length=8, min_length=8)
    return ka.Translator(model, letters, sounds, search)


MODELS = {
    "classifier, LSTM": lambda: classifier(layers.LSTM),
    "classifier, GRU": lambda: classifier(layers.GRU),
    "classifier, self-attention": self_attention,
    "forecaster": forecaster,
    "captioner": captioner,
    "speller": speller,
}
SIGNATURES = "serving_default", "translate_ids", "translate_source"


def load(path: Path):
    """Load a file; return a function from an array to floats."""
    if path.suffix == ".tflite":
        interpreter = Interpreter(str(path), num_threads=1)
        known = interpreter.get_signature_list()
        (signature,) = (x for x in SIGNATURES if x in known)
        run = interpreter.get_signature_runner(signature)
        (name,) = run.get_input_details()
        return lambda x: floats(run(**{name: x}).values())
    if path.suffix == ".onnx":
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options)
        (found,) = session.get_inputs()
        return lambda x: floats(session.run(None, {found.name: x}))
    served = tf.saved_model.load(path)
    run = served.signatures["serving_default"]
    (name,) = run.structured_input_signature[1]

    def answer(x, _=served):  # which keeps its variables
        return floats(run(**{name: tf.constant(x)}).values())

    return answer


def floats(outputs) -> np.ndarray:
    """The only output of floating-point numbers."""
    (found,) = (x for x in map(np.asarray, outputs) if x.dtype == "float32")
    return found


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def milliseconds(
    runs: dict, x: np.ndarray, count: int, clock: Callable
) -> dict[str, float]:
    """Time functions, each time in another order: the median of each."""
    times, draw = {name: [] for name in runs}, np.random.default_rng(0)
    for _ in range(count):
        for name in draw.permutation(list(runs)):
            began = clock()
            runs[name](x)
            times[name].append(1000 * (clock() - began))
    return {name: float(np.median(each)) for name, each in times.items()}


def write(made, folder: Path) -> tuple[dict[str, Path], dict, np.ndarray]:
    """Write all files of a model or a translator.

    Returns:
        Their paths by format, functions that answer without a file, and what
        one request takes.
    """
    draw = np.random.default_rng(0)
    if isinstance(made, ka.Translator) and made.source_tokenizer is not None:
        size = made.source_tokenizer.vocabulary_size
        x = draw.integers(4, size, (1, 11)).astype("int32")
        others = {"generate": lambda x: made.model.generate(x, made.search)[1]}
        paths = written(made.export, folder)
        del paths["SavedModel"]  # which takes text
        return paths, others, x
    if isinstance(made, ka.Translator):
        x = draw.uniform(size=(1, 48, 48, 3)).astype("float32")
        others = {"translator": lambda x: made(x, return_scores=True)[1]}
        return written(made.export, folder), others, x
    sample = draw.normal(size=(SAMPLES, WORDS, 1)).astype("float32")
    if made.inputs[0].dtype == "int32":
        sample = draw.integers(1, VOCABULARY, (SAMPLES, WORDS)).astype("int32")
    paths = written(
        lambda path, **options: ka.export_model(
            made, path, sample=sample, **options
        ),
        folder,
    )
    paths["SavedModel, by Keras' `Model.export`"] = folder / "keras"
    paths["ONNX, by Keras' `Model.export`"] = folder / "keras.onnx"
    made.export(folder / "keras", verbose=False)
    made.export(folder / "keras.onnx", format="onnx", verbose=False)
    others = {"predict": lambda x: made.predict(x, verbose=0)}
    return paths, others, sample[:1]


def written(export: Callable, folder: Path) -> dict[str, Path]:
    """Export to each format; return the paths of those that are not refused."""
    paths = {}
    for name, (pattern, quantize) in FORMATS.items():
        path = folder / pattern.format("ours")
        try:
            export(path, quantize=quantize)
        except ValueError as error:
            print(f"{name} is refused: {error}")
            continue
        paths[name] = path
    return paths


def measure(
    kind: str,
    made: keras.Model | ka.Translator,
    folder: Path,
    before: Path | None,
    count: int,
    clock: Callable,
):
    """Print the rows of one model."""
    paths, runs, x = write(made, folder)
    ((_, reference),) = runs.items()
    wanted = np.asarray(reference(x))
    for name in ("ONNX", "ONNX int8") if before else ():
        pattern, _ = FORMATS[name]
        paths[f"{name} before"] = before / pattern.format("ours")
    runs |= {name: load(path) for name, path in paths.items()}
    apart = {name: np.abs(run(x) - wanted).max() for name, run in runs.items()}
    for name, ms in milliseconds(runs, x, count, clock).items():
        path = paths.get(name)
        kilobytes = "" if path is None else f"{size(path) / 1000:,.0f}"
        row = f"{kilobytes} | {ms:.2f} | {apart[name]:.0e} |"
        print(f"| {kind} | {name} | {row}", flush=True)


def main(
    runs: int,
    only: str = "",
    keep: Path | None = None,
    before: Path | None = None,
    cpu: bool = False,
):
    """Print a table, of the models whose names have a word."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    clock = time.process_time if cpu else time.perf_counter
    print("| model | format | kB | ms | greatest difference |")
    print("| --- | --- | ---: | ---: | ---: |")
    for kind, make in MODELS.items():
        if only not in kind:
            continue
        keras.utils.set_random_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            folder = keep or Path(folder)
            measure(kind, make(), folder, before, runs, clock)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default="", help="models of this name")
    parser.add_argument(
        "--keep", type=Path, help="folder for one model's files"
    )
    parser.add_argument("--before", type=Path, help="folder of others to time")
    parser.add_argument("--cpu", action="store_true", help="time of processors")
    main(**vars(parser.parse_args()))
