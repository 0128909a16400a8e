"""Runs a LiteRT file with text operations in a process of its own.

A program, which `litert_text.py` starts by its path.

    python run_litert_text.py FILE SIGNATURE < pickled batches > pickled answers
"""

import pickle
import sys

from ai_edge_litert.interpreter import InterpreterWithCustomOps
from tensorflow_text import tflite_registrar


def run(file: str, signature: str, batches: list[dict]) -> list[dict]:
    """Run batches, one after the other, in one interpreter.

    Args:
        file: The LiteRT file.
        signature: The name of one of its signatures.
        batches: For each run the inputs, as NumPy arrays by their names.
    """
    interpreter = InterpreterWithCustomOps(
        model_path=file,
        custom_op_registerers=tflite_registrar.SELECT_TFTEXT_OPS,
    )
    runner = interpreter.get_signature_runner(signature)
    return [runner(**batch) for batch in batches]


if __name__ == "__main__":
    found = run(*sys.argv[1:], pickle.load(sys.stdin.buffer))
    sys.stdout.buffer.write(pickle.dumps(found))
