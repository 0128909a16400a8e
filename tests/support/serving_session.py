"""Runs a SavedModel as TensorFlow Serving does; a program for subprocesses.

It takes the session loader, and has no operations but TensorFlow's own and
those of the one library of `tensorflow_text` that normalizes text, which
Serving links.

    python serving_session.py FOLDER < pickled batches > pickled answer
"""

import importlib.util
import pickle
import sys
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry


def operations(folder: str) -> set[str]:
    """Name all operations of all graphs of a SavedModel."""
    content = Path(folder, "saved_model.pb").read_bytes()
    found = set()
    for part in saved_model_pb2.SavedModel.FromString(content).meta_graphs:
        library = part.graph_def.library.function
        nodes = [part.graph_def.node, *(f.node_def for f in library)]
        found |= {node.op for group in nodes for node in group}
        found -= {function.signature.name for function in library}
    return found


def load_normalizer():
    """Load one operation library, not the package that it is part of."""
    place = importlib.util.find_spec("tensorflow_text")
    folder = Path(place.submodule_search_locations[0])
    tf.load_op_library(str(folder / "python" / "ops" / "_normalize_ops.so"))


def run(folder: str, batches: list[list[bytes]]) -> dict[str, list[dict]]:
    """Run every batch through every signature with an input."""
    v1 = tf.compat.v1
    answers = {}
    with v1.Session(graph=tf.Graph()) as session:
        loaded = v1.saved_model.loader.load(session, ["serve"], folder)
        for name, signature in loaded.signature_def.items():
            if not signature.inputs:
                continue
            fetches = {k: x.name for k, x in signature.outputs.items()}
            text = signature.inputs["text"].name
            answers[name] = [
                session.run(fetches, {text: batch}) for batch in batches
            ]
    return answers


if __name__ == "__main__":
    folder = sys.argv[1]
    used = operations(folder)
    foreign = {op for op in used if op_def_registry.get(op) is None}
    load_normalizer()
    answer = {
        "operations": used,
        "foreign": foreign,
        "answers": run(folder, pickle.load(sys.stdin.buffer)),
    }
    sys.stdout.buffer.write(pickle.dumps(answer))
