"""Loops of ONNX graphs: what never changes is read from outside of them."""

from collections.abc import Iterator

COUNT_AND_CONDITION = 2  # what a loop, and its body, take before variables
CONDITION = 1  # what a body gives before its variables


def free_invariants(graph) -> None:
    """Let loops read from outside what they carry and never change.

    tf2onnx makes a variable of each tensor that a loop reads. onnxruntime packs
    the weights of a product when it loads a file, but not those that are
    variables of a loop, which takes twice the time for a single text.

    Args:
        graph: A graph of ONNX. It is changed in place, and so are the graphs
            inside of it.
    """
    for node in graph.node:
        for inner in _graphs_of(node):
            free_invariants(inner)
    read = set(_names_read(graph))
    for node in graph.node:
        if node.op_type == "Loop":
            _free(node, read)


def _free(loop, read):
    """Free the variables of one loop, but for those that are read after it."""
    (body,) = _graphs_of(loop)
    given = [x.name for x in body.output]
    outside_names = {}
    for i in reversed(range(len(loop.input) - COUNT_AND_CONDITION)):
        before, after = i + COUNT_AND_CONDITION, i + CONDITION
        inside, outside = body.input[before].name, loop.input[before]
        unchanged = given[after] == inside and given.count(inside) == 1
        if unchanged and loop.output[i] not in read:
            outside_names[inside] = outside
            del body.input[before], body.output[after]
            del loop.input[before], loop.output[i]
    _rename(body, outside_names)


def _rename(graph, names):
    """Rename what the nodes of a graph read, and those of graphs inside."""
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for inner in _graphs_of(node):
            _rename(inner, names)


def _graphs_of(node) -> list:
    return [x.g for x in node.attribute if x.HasField("g")]


def _names_read(graph) -> Iterator[str]:
    """List what a graph, and those inside of it, read and give."""
    yield from (x.name for x in graph.output)
    for node in graph.node:
        yield from node.input
        for inner in _graphs_of(node):
            yield from _names_read(inner)
