"""Runs a LiteRT file in a process of its own, which a fault may end.

A program, which `litert.py` starts by its path: like a phone, it loads
neither this package nor TensorFlow, unless it is told to load operations.

    python run_litert.py FILE SIGNATURE [OPERATIONS] < batches > answers

Batches and answers are in JSON, as `to_json` writes them, in a list.
"""

import json
import pkgutil
import sys

import numpy as np
from ai_edge_litert.interpreter import InterpreterWithCustomOps

Arrays = dict[str, np.ndarray]


def run(
    file: str,
    signature: str,
    batches: list[Arrays],
    operations: str | None = None,
) -> list[Arrays]:
    """Run batches, one after the other, in one interpreter.

    Args:
        file: The LiteRT file.
        signature: The name of one of its signatures, or of one for each
            batch, with spaces between them.
        batches: For each run the inputs by their names. What one lacks is
            what the run before gave under that name.
        operations: Where the operations are that LiteRT lacks, such as
            `"tensorflow_text:tflite_registrar.SELECT_TFTEXT_OPS"`. Defaults
            to `None`.

    Returns:
        For each run the outputs by their names.
    """
    known = pkgutil.resolve_name(operations) if operations else []
    interpreter = InterpreterWithCustomOps(
        model_path=file, custom_op_registerers=known
    )
    names = signature.split()
    runners = {x: interpreter.get_signature_runner(x) for x in names}
    names = names if len(names) > 1 else names * len(batches)
    answers = [{}]
    for name, batch in zip(names, batches, strict=True):
        run, given = runners[name], {**answers[-1], **batch}
        wanted = run.get_input_details()
        answers.append(run(**{k: x for k, x in given.items() if k in wanted}))
    return answers[1:]


def to_json(arrays: Arrays) -> dict[str, dict]:
    """Turn arrays of numbers or of bytes into what JSON can hold.

    Args:
        arrays: The arrays by their names.

    Returns:
        Type, shape and values of each. A character stands for each byte.
    """
    return {
        name: {
            "dtype": array.dtype.name,
            "shape": array.shape,
            "values": [
                value.decode("latin-1") if isinstance(value, bytes) else value
                for value in array.ravel().tolist()
            ],
        }
        for name, array in arrays.items()
    }


def from_json(content: dict[str, dict]) -> Arrays:
    """Turn back what `to_json` gave.

    Args:
        content: Type, shape and values of each array.

    Returns:
        The arrays by their names; texts as bytes, of type `object`.
    """
    return {
        name: np.array(
            [
                value.encode("latin-1") if isinstance(value, str) else value
                for value in part["values"]
            ],
            part["dtype"],
        ).reshape(part["shape"])
        for name, part in content.items()
    }


if __name__ == "__main__":
    given = [from_json(batch) for batch in json.load(sys.stdin)]
    answers = run(*sys.argv[1:3], given, *sys.argv[3:])
    json.dump([to_json(answer) for answer in answers], sys.stdout)
