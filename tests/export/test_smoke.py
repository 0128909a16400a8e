"""Exports as users run them: each file in a runtime of its own."""

import pytest
import tensorflow as tf
from tiny import tiny_translator

TEXTS = ["0123", "4", "87"]


def in_saved_model(path):
    served = tf.saved_model.load(path).signatures["serving_default"]
    found = served(text=tf.constant(TEXTS))["translations"].numpy()
    return [row[0].decode() for row in found]


def in_litert(path):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(str(path)).get_signature_runner("translate_ids")
    return written(run(source_ids=ids())["tokens"])


def in_onnx(path):
    from onnxruntime import InferenceSession

    (tokens,) = InferenceSession(path).run(["tokens"], {"source_ids": ids()})
    return written(tokens)


def ids():
    return tiny_translator().source_tokenizer.tokenize(TEXTS)


def written(tokens):
    texts = tiny_translator().target_tokenizer.detokenize(tokens[:, 0])
    return texts.tolist()


@pytest.mark.parametrize(
    ("name", "format", "run"),
    [
        ("digits", "tf_saved_model", in_saved_model),
        ("digits.tflite", "litert", in_litert),
        ("digits.onnx", "onnx", in_onnx),
    ],
)
def test_a_file_translates_as_the_translator_does(name, format, run, tmp_path):
    translator = tiny_translator()
    translator.export(tmp_path / name, format)
    assert run(tmp_path / name) == translator(TEXTS)
