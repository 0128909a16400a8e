"""run_litert_text: the program that runs a file with text operations."""

import subprocess
import sys

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import tensorflow_text

    from keras_attention.export import run_litert_text


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Write a file with one operation of tensorflow_text."""
    tokenizer = tensorflow_text.WhitespaceTokenizer()

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def count(text):
        return {"words": tokenizer.tokenize(text).row_lengths()}

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [count.get_concrete_function()], tf.Module()
    )
    converter.allow_custom_ops = True
    path = tmp_path_factory.mktemp("text") / "count.tflite"
    path.write_bytes(converter.convert())
    return path


def test_it_knows_the_operations_of_text(file):
    batches = [{"text": np.array(x, object)} for x in ([b"a b"], [b"", b"c"])]
    found = run_litert_text.run(str(file), "serving_default", batches)
    assert [x["words"].tolist() for x in found] == [[2], [0, 1]]


def test_it_does_not_load_this_package():
    code = (
        "import runpy, sys;"
        f"runpy.run_path({run_litert_text.__file__!r});"
        "print('keras_attention' in sys.modules)"
    )
    command = [sys.executable, "-P", "-c", code]
    said = subprocess.check_output(command, text=True, stderr=-3)
    assert said == "False\n"
