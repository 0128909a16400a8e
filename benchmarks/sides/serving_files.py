"""Writes our model in all formats, and as a translator, into a folder."""

from pathlib import Path

import numpy as np
from draws import serving_words
from sides.fit_model import build
from sides.serve import serve
from works import FitWork
from works import ServingWork

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention import WordTokenizer


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (files have none)
    """Write the files; there is nothing to run."""
    work = ServingWork(**work)
    model = build(FitWork(*work[:3]), arrays)
    tokenizer = WordTokenizer(serving_words(work))
    search = GreedySearch(max_length=work.steps)
    if work.beams > 1:
        search = BeamSearch(work.beams, max_length=work.steps)
    translator = Translator(model, tokenizer, tokenizer, search)
    folder = Path(work.folder)
    translator.save(folder / "translator")
    translator.export(folder / "ours" / "1")
    translator.export(folder / "float32.tflite", "litert")
    translator.export(folder / "int8.tflite", "litert", quantize="int8")
    translator.export(folder / "float32.onnx", "onnx")
    translator.export(folder / "int8.onnx", "onnx", quantize="int8")

    def numbers():
        sizes = {
            path.name: path.stat().st_size
            for path in folder.iterdir()
            if path.is_file()
        }
        return {name: np.array(size) for name, size in sizes.items()}

    return (lambda: None), numbers


if __name__ == "__main__":
    serve(make)
