"""Runs a LiteRT file in a process of its own, which a fault may end.

A program, which `litert.py` starts by its path: it knows this package as
little as a phone does.

    python run_litert.py FILE SIGNATURE < pickled batches > pickled answers
"""

import pickle
import sys

from ai_edge_litert.interpreter import Interpreter


def run(file: str, signature: str, batches: list[dict]) -> list[dict]:
    """Run batches, one after the other, in one interpreter.

    Args:
        file: The LiteRT file.
        signature: The name of one of its signatures.
        batches: For each run the inputs, as NumPy arrays by their names.
    """
    runner = Interpreter(model_path=file).get_signature_runner(signature)
    return [runner(**batch) for batch in batches]


if __name__ == "__main__":
    found = run(*sys.argv[1:], pickle.load(sys.stdin.buffer))
    sys.stdout.buffer.write(pickle.dumps(found))
