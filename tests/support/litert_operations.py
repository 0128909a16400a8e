"""The operations of LiteRT files, and those that XNNPACK runs as copies."""

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.tools import flatbuffer_utils

CODES = schema.BuiltinOperator


def operations(content):
    """Give each operation's name, with itself and its graph."""
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    names = {n: name for name, n in vars(CODES).items()}
    for graph in model.subgraphs:
        for operation in graph.operators:
            code = model.operatorCodes[operation.opcodeIndex]
            name = names[max(code.builtinCode, code.deprecatedBuiltinCode)]
            yield name, operation, graph, model


def copies(content):
    """Name what XNNPACK would run as a copy."""
    found = set()
    for name, operation, graph, model in operations(content):
        inputs = [graph.tensors[i] for i in operation.inputs]
        if name in ("RESHAPE", "EXPAND_DIMS", "SPLIT"):
            shape = inputs[0 if name == "SPLIT" else 1]
            copied = model.buffers[shape.buffer].data is not None
        elif name == "CONCATENATION":
            copied = inputs[0].type == schema.TensorType.FLOAT32
        else:
            copied = name == "FULLY_CONNECTED"
            copied = copied and not operation.builtinOptions.keepNumDims
        found |= {name} if copied else set()
    return found
