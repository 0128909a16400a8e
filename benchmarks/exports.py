"""Agreement of exported files with their translator; BLEU, size and time.

    python examples/translate_multi30k.py --data multi30k --save de_en
    python benchmarks/exports.py --translator de_en --data multi30k

It exports a trained translator in every format, with greedy search and with
five beams, and compares each file with the model on real sentences. Then it
translates the whole test set with LiteRT files of every quantization, and
prints BLEU, size and time. It needs all extras.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
import sacrebleu
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention.text import read_lines

SEARCHES = {
    "greedy": GreedySearch(max_length=60),
    "beam 5": BeamSearch(5, n_best=2, max_length=60),
}
BATCH = 20
ROW = "{:<10} {:<10} {:>10} {:>12} {:>10}"


def run_saved_model(path: Path):
    """Load a SavedModel; return a function that runs `align` on text."""
    loaded = tf.saved_model.load(path)
    align = loaded.signatures["align"]

    def run(sentences, _):
        found = align(text=tf.constant(sentences))
        return found["target_tokens"].numpy(), found["scores"].numpy()

    return run


def run_litert(path: Path):
    """Load a LiteRT file; return a function that translates ids."""
    interpreter = Interpreter(model_path=str(path), num_threads=2)
    translate = interpreter.get_signature_runner("translate_ids")

    def run(_, ids):
        found = translate(source_ids=ids)
        return found["tokens"], found["scores"]

    return run


def run_onnx(path: Path):
    """Load an ONNX file; return a function that translates ids."""
    session = onnxruntime.InferenceSession(path)
    return lambda _, ids: session.run(["tokens", "scores"], {"source_ids": ids})


FORMATS = {
    "tf_saved_model": ("1", run_saved_model),
    "litert": ("translator.tflite", run_litert),
    "onnx": ("translator.onnx", run_onnx),
}


def batches_of(translator, sentences: list[str]):
    """Yield batches of sentences and their ids."""
    for start in range(0, len(sentences), BATCH):
        batch = sentences[start : start + BATCH]
        yield batch, translator.source_tokenizer.tokenize(batch)


def compare(translator, sentences: list[str], folder: Path):
    """Print for every file how many texts and by how much scores differ."""
    print(ROW.format("format", "search", "sentences", "other ids", "scores by"))
    tokenizer = translator.target_tokenizer
    for name, search in SEARCHES.items():
        translator = with_search(translator, search)
        for form, (file, runner) in FORMATS.items():
            translator.export(folder / file, form)
            run = runner(folder / file)
            other, difference = 0, 0.0
            for batch, ids in batches_of(translator, sentences):
                wanted = translator.model.generate(ids, search)
                tokens, scores = run(batch, ids)
                truth = wanted.tokens
                if tokens.dtype == object:  # tokens as strings
                    truth = tokenizer.tokens(truth)
                same = (tokens == truth.numpy()).all(axis=(1, 2))
                other += np.sum(~same)
                errors = np.abs(scores - wanted.scores.numpy())
                difference = max(difference, errors.max())
            count = len(sentences)
            print(ROW.format(form, name, count, other, f"{difference:.1e}"))


def with_search(translator, search):
    """Return a translator of the same parts with another search."""
    return Translator(
        translator.model,
        translator.source_tokenizer,
        translator.target_tokenizer,
        search,
    )


def quantize(
    translator, sentences: list[str], references: list[str], folder: Path
):
    """Print BLEU, size and time of every quantization."""
    print(ROW.format("weights", "search", "BLEU", "MB", "seconds"))
    metric = sacrebleu.metrics.BLEU(lowercase=True)
    tokenizer = translator.target_tokenizer
    for name, search in SEARCHES.items():
        translator = with_search(translator, search)
        for weights in (None, "float16", "int8"):
            path = folder / "translator.tflite"
            translator.export(path, "litert", quantize=weights)
            run = run_litert(path)
            texts, start = [], time.perf_counter()
            for batch, ids in batches_of(translator, sentences):
                tokens, _ = run(batch, ids)
                found = tokenizer.detokenize(tokens[:, 0])
                texts += found.tolist()
            seconds = time.perf_counter() - start
            score = metric.corpus_score(texts, [references]).score
            size = path.stat().st_size / 1e6
            weights = weights or "float32"
            print(
                ROW.format(
                    weights,
                    name,
                    f"{score:.2f}",
                    f"{size:.1f}",
                    f"{seconds:.0f}",
                )
            )


def main(
    translator: str,
    data: str,
    source: str = "de",
    target: str = "en",
    sentences: int = 200,
):
    """Export in every format, compare, and measure.

    Args:
        translator: Folder of a saved `Translator`.
        data: Folder of Multi30k.
        source: Language to translate from.
        target: Language to translate to.
        sentences: Number of test sentences that are compared one by one.
    """
    translator = Translator.load(translator)
    lines = [
        read_lines(Path(data) / f"test_2016_flickr.{side}.gz")
        for side in (source, target)
    ]
    with tempfile.TemporaryDirectory() as folder:
        compare(translator, lines[0][:sentences], Path(folder))
        quantize(translator, *lines, Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--translator", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--sentences", type=int, default=200)
    main(**vars(parser.parse_args()))
