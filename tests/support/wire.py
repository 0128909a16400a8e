"""Reads `saved_model.pb` without TensorFlow: what serving needs of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class TensorInfo(NamedTuple):
    """Name and type of a tensor, as a signature has them."""

    name: str
    dtype: int


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field of a protocol buffer."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(message, at)
            value = message[at : at + size]
            at += size
        yield number, value


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte: the number, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def every(message: bytes, *path: int) -> Iterator:
    """Yield all values at a path of field numbers."""
    for number, value in fields(message):
        if number == path[0]:
            yield from every(value, *path[1:]) if path[1:] else [value]


def entries(message: bytes, number: int) -> dict[str, bytes]:
    """Read a map field whose keys are strings."""
    pairs = [dict(fields(entry)) for entry in every(message, number)]
    return {pair[1].decode(): pair.get(2, b"") for pair in pairs}


def tensors(signature: bytes, number: int) -> dict[str, TensorInfo]:
    """Name the inputs (1) or the outputs (2) of a SignatureDef."""
    found = {}
    for name, info in entries(signature, number).items():
        info = dict(fields(info))
        found[name] = TensorInfo(info[1].decode(), info[2])
    return dict(sorted(found.items()))


def read_saved_model(folder: str | Path) -> tuple[dict, set[str]]:
    """Read signatures and names of operations.

    Args:
        folder: The SavedModel.

    Returns:
        Inputs and outputs, two dicts of `TensorInfo`, for every signature
        that has an input; and the operations of the graph and its functions.
    """
    content = Path(folder, "saved_model.pb").read_bytes()
    (graph,) = every(content, 2)  # SavedModel.meta_graphs
    signatures = {
        name: (tensors(signature, 1), tensors(signature, 2))
        for name, signature in entries(graph, 5).items()
        if tensors(signature, 1)
    }
    nodes = every(graph, 2, 1, 2)  # graph_def.node.op
    inner = every(graph, 2, 2, 1, 3, 2)  # library.function.node_def.op
    own = every(graph, 2, 2, 1, 1, 1)  # library.function.signature.name
    operations = {*nodes, *inner} - {*own}
    return signatures, {name.decode() for name in operations}
