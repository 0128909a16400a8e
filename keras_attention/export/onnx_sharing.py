"""Merge equal operations of a graph of ONNX."""

from collections.abc import Iterable
from typing import Any


def share_equal(graph: Any) -> None:
    """Merge equal constants and equal nodes of a graph.

    tf2onnx repeats constants, casts, and reshapes for each operation that uses
    them. onnxruntime needs about a microsecond for each node, however small,
    and inside a loop at every step.

    Args:
        graph: A graph of ONNX whose nodes draw no random numbers. It is
            changed in place, as are the graphs inside it.
    """
    kept, known, names = [], {}, {}
    given = {x.name for x in graph.output}
    values = {}
    for x in graph.initializer:
        key = x.data_type, tuple(x.dims), _content(x)
        if values.setdefault(key, x.name) != x.name and x.name not in given:
            names[x.name] = values[key]
    for node in graph.node:
        node.input[:] = [names.get(x, x) for x in node.input]
        key, outputs = _key(node), [*node.output]
        if key in known and not given & {*outputs}:
            names.update(zip(outputs, known[key], strict=True))
            continue
        kept.append(node)
        if key is not None:
            known[key] = outputs
    values = [x for x in graph.initializer if x.name not in names]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(values)
    for node in graph.node:
        for inner in graphs_of(node):
            rename(inner, names)
            share_equal(inner)


def _content(tensor):
    """Return the value of a constant as bytes, without its name."""
    copy = type(tensor)()
    copy.CopyFrom(tensor)
    copy.ClearField("name")
    return copy.SerializeToString()


def _key(node):
    """Return a key that is equal for equal nodes; `None` for loops."""
    if graphs_of(node):
        return None
    attributes = sorted(x.SerializeToString() for x in node.attribute)
    return (
        *(node.domain, node.op_type, *node.input),
        *(len(node.output), *attributes),
    )


def rename(graph: Any, names: dict[str, str]) -> None:
    """Rename the inputs of nodes, also in the graphs inside them.

    Args:
        graph: A graph of ONNX, changed in place.
        names: New names by the old ones.
    """
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for inner in graphs_of(node):
            rename(inner, names)


def graphs_of(node: Any) -> list:
    """Return the graphs inside of a node, such as the body of a loop.

    Args:
        node: A node of ONNX.
    """
    return [x.g for x in node.attribute if x.HasField("g")]


def domains_of(nodes: Iterable[Any]) -> set[str]:
    """Return the domains of nodes and of the nodes inside them.

    Args:
        nodes: Nodes of ONNX.
    """
    found = set()
    for node in nodes:
        inside = (domains_of(graph.node) for graph in graphs_of(node))
        found.update([node.domain], *inside)
    return found
