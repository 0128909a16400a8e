"""run_litert: the program that runs a file, alone in its process."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.export import run_litert


def loaded_by(*arguments):
    """Name the packages that a process has loaded when the program ends."""
    code = (
        "import json, runpy, sys; sys.argv = json.loads(sys.argv[1]);"
        "runpy.run_path(sys.argv[0], run_name='__main__');"
        "print([*sys.modules], file=sys.stderr)"
    )
    given = json.dumps([run_litert.__file__, *map(str, arguments)])
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, given],
        input="[]",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
    modules = done.stderr.splitlines()[-1]
    names = ("tensorflow", "keras", "keras_attention")
    return {name for name in names if f"'{name}'" in modules}


def test_it_loads_neither_tensorflow_nor_this_package(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32, "x")])
    def double(x):
        return {"y": 2 * x}

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [double.get_concrete_function()], tf.Module()
    )
    path = tmp_path / "double.tflite"
    path.write_bytes(converter.convert())
    assert loaded_by(path, "serving_default", "own") == set()


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, -2], [3, 4]], "int32"),
        np.array([2**62 + 1]),
        np.array([0.1, -np.inf, np.nan, 1e-45], "float32"),
        np.array([[b"a\0", b""], [b"\xff\n", "\uac00".encode()]], object),
        np.zeros((2, 0, 3), "float32"),
        np.zeros((0, 4), object),
        np.array(True),
    ],
)
def test_arrays_survive_json(array):
    text = json.dumps([{"x": array}], default=run_litert.to_json)
    found = json.loads(text, object_hook=run_litert.from_json)[0]["x"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
