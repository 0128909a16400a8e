"""Runs SavedModels as TensorFlow Serving does; a program for subprocesses.

What runs them is the session loader of TensorFlow, which is Serving's, with the
operations of `tensorflow_text` that Serving links. Neither Keras nor this
package can be imported there.

    python served.py < question > answer

Both are pickled, as `ask` writes and reads them.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
from memory import most_kilobytes

# What `tensorflow_model_server` links of `tensorflow_text`, its `ops_lib`.
LINKED = """
_boise_offset_converter _byte_splitter _constrained_sequence_op
_fast_bert_normalizer _fast_sentencepiece_tokenizer _fast_wordpiece_tokenizer
_mst_ops _ngrams_op _normalize_ops _phrase_tokenizer _regex_split_ops
_sentence_breaking_ops _sentencepiece_tokenizer _split_merge_tokenizer
_split_merge_from_logits_tokenizer _state_based_sentence_breaker_op
_trimmer_ops _unicode_script_tokenizer _utf8_binarize_op _whitespace_tokenizer
_whitespace_tokenizer_v2 _wordpiece_tokenizer
""".split()


def ask(requests: list, with_operations: bool = True) -> dict:
    """Send requests to SavedModels in another process.

    Args:
        requests: Folder, signature and a batch of texts, as bytes, of each.
        with_operations: Whether to load the operations of `tensorflow_text`.

    Returns:
        What `answer` returns.

    Raises:
        RuntimeError: If the process fails; with what it said.
    """
    requests = [(str(folder), *others) for folder, *others in requests]
    # Set by `onnxruntime_extensions`: protobuf then reads models in Python.
    slow = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
    done = subprocess.run(
        [sys.executable, __file__],
        env={name: x for name, x in os.environ.items() if name != slow},
        input=pickle.dumps((requests, with_operations)),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        raise RuntimeError(f"exit {done.returncode}: {said}")
    return pickle.loads(done.stdout)


def load_operations():
    """Load what Serving links beside TensorFlow's own operations."""
    import tensorflow as tf

    (package,) = importlib.util.find_spec(
        "tensorflow_text"
    ).submodule_search_locations
    for name in LINKED:
        tf.load_op_library(str(Path(package, "python", "ops", f"{name}.so")))


class Model:
    """A session on a SavedModel, its signatures and its operations."""

    def __init__(self, folder: str):
        import tensorflow as tf

        v1 = tf.compat.v1
        self.session = v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            content = v1.saved_model.load(self.session, ["serve"], folder)
        self.signatures = content.signature_def
        graph = content.graph_def
        bodies = [graph.node, *(x.node_def for x in graph.library.function)]
        self.operations = {node.op for nodes in bodies for node in nodes}

    def run(self, signature: str, texts: list[bytes]) -> dict:
        """Answer one request: the outputs by their names, as arrays."""
        if signature not in self.signatures:
            raise KeyError(signature)
        (text,) = self.signatures[signature].inputs.values()
        outputs = self.signatures[signature].outputs
        fetches = {name: x.name for name, x in outputs.items()}
        return self.session.run(fetches, {text.name: np.array(texts, object)})


def answer(requests: list, with_operations: bool) -> dict:
    """Answer requests, as `ask` writes them.

    Returns:
        `answers`, arrays by their names for each request; `kilobytes`, the
        most memory that the process had; and `used`, for each folder the
        names of its operations.
    """
    sys.modules["keras"] = sys.modules["keras_attention"] = None
    if with_operations:
        load_operations()
    models = {folder: Model(folder) for folder, *_ in requests}
    answers = [models[x].run(*request) for x, *request in requests]
    return {
        "answers": answers,
        "kilobytes": most_kilobytes(),
        "used": {folder: x.operations for folder, x in models.items()},
    }


if __name__ == "__main__":
    pickle.dump(answer(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
