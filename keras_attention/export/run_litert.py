"""Run a LiteRT file in a separate process, so that a crash ends only it.

`litert.py` starts this program by its path. Like a mobile app, it imports
neither this package nor TensorFlow, unless an option loads operations.

    python run_litert.py FILE SIGNATURE KERNELS [OPERATIONS] < batches > answers

Batches and answers are JSON lists, with arrays in the format of `to_json`.
"""

import base64
import json
import pkgutil
import sys

import numpy as np
from ai_edge_litert.interpreter import InterpreterWithCustomOps
from ai_edge_litert.interpreter import OpResolverType

Arrays = dict[str, np.ndarray]
KERNELS = {
    "default": OpResolverType.AUTO,  # with XNNPACK
    "own": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
}


def run(
    file: str,
    signature: str,
    batches: list[Arrays],
    operations: str | None = None,
    kernels: str = "default",
) -> list[Arrays]:
    """Run batches in order in one interpreter.

    Args:
        file: The LiteRT file.
        signature: The name of a signature, or one name per batch, separated
            by spaces.
        batches: The inputs of each run by name. A missing input is the output
            of the same name of the previous run.
        operations: The location of additional operations, such as
            `"tensorflow_text:tflite_registrar.SELECT_TFTEXT_OPS"`. Defaults
            to `None`.
        kernels: `"default"`, or `"own"` to disable XNNPACK. Defaults to
            `"default"`.

    Returns:
        The outputs of each run by name.
    """
    known = pkgutil.resolve_name(operations) if operations else []
    interpreter = InterpreterWithCustomOps(
        model_path=file,
        custom_op_registerers=known,
        experimental_op_resolver_type=KERNELS[kernels],
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


def to_json(value: np.ndarray | bytes) -> dict:
    """Convert a value for `json.dumps(..., default=to_json)`.

    Args:
        value: An array of numbers or of bytes, or bytes.

    Returns:
        Type, shape and values: base64 for numbers, and for bytes a string
        with one character per byte.
    """
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if value.dtype == object:
        values = value.ravel().tolist()
    else:
        values = base64.b64encode(value.tobytes()).decode()
    return {"dtype": value.dtype.name, "shape": value.shape, "values": values}


def from_json(content: dict) -> dict | np.ndarray | bytes:
    """Convert a value back, for `json.loads(..., object_hook=from_json)`.

    Args:
        content: A decoded JSON object.

    Returns:
        The array or the bytes that it represents, or `content` itself.
    """
    if content.keys() == {"bytes"}:
        return content["bytes"].encode("latin-1")
    if content.keys() != {"dtype", "shape", "values"}:
        return content  # arrays by their names
    values, dtype = content["values"], content["dtype"]
    if dtype == "object":
        array = np.array(values, object)
    else:
        array = np.frombuffer(base64.b64decode(values), dtype)
    return array.reshape(content["shape"])


if __name__ == "__main__":
    given = json.load(sys.stdin, object_hook=from_json)
    file, signature, kernels, *operations = sys.argv[1:]
    answers = run(file, signature, given, *operations, kernels=kernels)
    json.dump(answers, sys.stdout, default=to_json)
