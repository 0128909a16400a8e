"""Runs an ONNX file from text to text, in a process of its own.

A program, which `onnx_text.py` starts by its path: like a server, it loads
neither this package nor TensorFlow, beside which the regular expressions of
`onnxruntime-extensions` find nothing.

    python run_onnx.py FILE [MODULE] < batches > answers

A batch is a list of texts, and an answer has translations and scores, in
JSON. The module is that of operations that onnxruntime lacks.
"""

import json
import pkgutil
import sys

import numpy as np
import onnxruntime

if __name__ == "__main__":
    file, *modules = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    for module in modules:
        library = pkgutil.resolve_name(module).get_library_path()
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(file, options)
    texts = [np.array(batch, object) for batch in json.load(sys.stdin)]
    found = [session.run(None, {"text": batch}) for batch in texts]
    json.dump([[x.tolist() for x in answer] for answer in found], sys.stdout)
