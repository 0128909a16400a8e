"""run_litert: the program that runs a file, alone in its process."""

import subprocess
import sys

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.export import run_litert


def test_it_loads_neither_tensorflow_nor_this_package():
    code = (
        "import runpy, sys;"
        f"runpy.run_path({run_litert.__file__!r});"
        "print(sorted({'tensorflow', 'keras', 'keras_attention'}"
        " & set(sys.modules)))"
    )
    command = [sys.executable, "-P", "-c", code]
    assert subprocess.check_output(command, text=True) == "[]\n"


def test_what_is_no_litert_file_is_an_error(tmp_path):
    path = tmp_path / "x.tflite"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"not a valid|identifier|Could not"):
        run_litert.run(str(path), "translate_ids", [])
