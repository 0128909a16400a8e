"""ONNX files in a process that has onnxruntime alone, as a server has."""

import json
import subprocess
import sys

import numpy as np

PROGRAM = """
import json, sys
import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.log_severity_level = 3
if sys.argv[2:]:
    import onnxruntime_extensions

    library = onnxruntime_extensions.get_library_path()
    options.register_custom_ops_library(library)
session = onnxruntime.InferenceSession(sys.argv[1], options)
KINDS = {"string": object, "int32": "int32", "float": "float32", "bool": bool}
kinds = {x.name: KINDS.get(x.type[7:-1], "int64") for x in session.get_inputs()}
answers = []
for batch in json.load(sys.stdin):
    given = {
        name: np.array(values, kind).reshape(shape)
        for (name, kind), (values, shape) in zip(kinds.items(), batch)
    }
    found = session.run(None, given)
    answers.append([(x.tolist(), x.shape) for x in found])
assert not {"tensorflow", "keras", "keras_attention"} & {*sys.modules}
json.dump(answers, sys.stdout)
"""


def run_alone(file, batches, extensions=False) -> list[list[np.ndarray]]:
    """Run an ONNX file.

    Args:
        file: The file.
        batches: Lists of texts, or arrays of ids; tuples of several inputs.
        extensions: Whether `onnxruntime-extensions` is loaded. Defaults to
            `False`.

    Returns:
        For each batch its outputs, of type `object`, texts as `str`.
    """
    batches = [x if isinstance(x, tuple) else (x,) for x in batches]
    batches = [
        [(np.array(x, object).tolist(), np.shape(x)) for x in batch]
        for batch in batches
    ]
    command = [sys.executable, "-c", PROGRAM, str(file), *["yes"] * extensions]
    done = subprocess.run(
        command, input=json.dumps(batches), capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]
    return [
        [np.array(values, object).reshape(shape) for values, shape in answer]
        for answer in json.loads(done.stdout)
    ]
