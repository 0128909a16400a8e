"""Runs an ONNX file of text, in a process of its own.

A program, which `onnx_text.py` starts by its path: like a server, it loads
neither this package nor TensorFlow, beside which the regular expressions of
`onnxruntime-extensions` find nothing.

    python run_onnx.py FILE [MODULE] < batches > answers

A batch has the inputs by their names, and an answer the outputs in their
order, in JSON. The module is that of operations that onnxruntime lacks.
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
