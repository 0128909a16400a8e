"""Run an ONNX file of text in a separate process.

`onnx_text.py` starts this program by its path. Like a server, it imports
neither this package nor TensorFlow, because the regular expressions of
`onnxruntime-extensions` match nothing in a process with TensorFlow.

    python run_onnx.py FILE [MODULE] < batches > answers

A batch is a JSON object of inputs by name, and an answer is a JSON list of
outputs in order. The module provides operations that onnxruntime lacks.
"""

import json
import pkgutil
import sys

import numpy as np
import onnxruntime

KINDS = {
    "tensor(string)": "object",
    "tensor(float)": "float32",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
}

if __name__ == "__main__":
    file, *modules = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    for module in modules:
        library = pkgutil.resolve_name(module).get_library_path()
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(file, options)
    kinds = {x.name: KINDS[x.type] for x in session.get_inputs()}
    answers = []
    for batch in json.load(sys.stdin):
        given = {name: np.array(x, kinds[name]) for name, x in batch.items()}
        answers.append([x.tolist() for x in session.run(None, given)])
    json.dump(answers, sys.stdout)
