"""Rewrite a LiteRT file so that XNNPACK makes no copies, which it may skip.

LiteRT delegates most operations to XNNPACK, which runs reshapes,
concatenations and splits as copies between two addresses. When a larger input
makes its workspace move, it sets up the copies again with the addresses of the
previous call, whose memory has been freed. If the new workspace begins at the
same address, source and destination look the same. The copy is then skipped,
even after it gets its real addresses, and later operations compute with old
values. This happens in LiteRT 2.1 to 2.3; `tests/export/test_litert_copies.py`
reports when it has been fixed.
"""

from typing import Any

from keras_attention.extras import require

# The input that XNNPACK needs as a constant, to take an operation.
CONSTANT = {"RESHAPE": 1, "EXPAND_DIMS": 1, "SPLIT": 0}


def without_copies(content: bytes) -> bytes:
    """Prevent XNNPACK from running operations that it implements as copies.

    LiteRT then runs them with its own kernels, which are as fast:

    - The constant shape of a reshape, or axis of a split, becomes the result
      of an operation, which LiteRT computes once, when it plans memory.
    - Numbers are concatenated as integers with the same bits.
    - A fully connected layer, which flattens its input with a copy, keeps its
      axes if it has at most two.

    Args:
        content: A LiteRT file.

    Returns:
        A LiteRT file with the same results.

    Raises:
        ImportError: If the extra `litert` is not installed.
    """
    asked_by = "export_litert"
    tools = require("ai_edge_litert.tools.flatbuffer_utils", "litert", asked_by)
    schema = require("ai_edge_litert.schema_py_generated", "litert", asked_by)
    model = tools.read_model_from_bytearray(bytearray(content))
    for graph in model.subgraphs:
        graph.operators = _Rewriter(schema, model, graph).operations()
    return bytes(tools.convert_object_to_bytearray(model))


class _Rewriter:
    """Rewrites the operations of one graph in a file.

    Args:
        schema: The module with the types of the file format.
        model: The content of the file.
        graph: The graph.
    """

    def __init__(self, schema, model, graph):
        self.schema, self.model, self.graph = schema, model, graph
        self.computed = {}  # operations, by the constants that they give
        self.names = {
            getattr(schema.BuiltinOperator, name): name
            for name in (*CONSTANT, "CONCATENATION", "FULLY_CONNECTED")
        }

    def operations(self) -> list[Any]:
        found = [self.rewrite(x) for x in self.graph.operators]
        return [*self.computed.values(), *(x for parts in found for x in parts)]

    def rewrite(self, operation) -> list[Any]:
        code = self.model.operatorCodes[operation.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        name = self.names.get(number)  # of those that are rewritten
        inputs = [int(x) for x in operation.inputs]
        types = self.schema.TensorType
        if name in CONSTANT:
            inputs[CONSTANT[name]] = self.compute(inputs[CONSTANT[name]])
            operation.inputs = inputs
        elif name == "CONCATENATION" and self.type(inputs[0]) == types.FLOAT32:
            output = int(operation.outputs[0])
            operation.inputs = [self.add_tensor(x, types.INT32) for x in inputs]
            operation.outputs = [self.add_tensor(output, types.INT32)]
            pairs = zip(inputs, operation.inputs, strict=True)
            views = [self.make("BITCAST", x, y) for x, y in pairs]
            last = self.make("BITCAST", operation.outputs[0], output)
            return [*views, operation, last]
        elif name == "FULLY_CONNECTED":
            axes = len(self.graph.tensors[inputs[0]].shape)
            operation.builtinOptions.keepNumDims |= axes == 2
        return [operation]

    def compute(self, constant: int) -> int:
        """Return the index of a computed tensor that equals a constant."""
        buffer = self.graph.tensors[constant].buffer
        if self.model.buffers[buffer].data is None:
            return constant  # it is none
        if constant not in self.computed:
            source, result = (
                self.add_tensor(constant, buffer=x, vector=True)
                for x in (buffer, 0)  # 0 has no content
            )
            made = self.make("CONCATENATION", source, result)
            options = self.schema.BuiltinOptions.ConcatenationOptions
            made.builtinOptionsType = options
            made.builtinOptions = self.schema.ConcatenationOptionsT()
            self.computed[constant] = made
        return self.computed[constant].outputs[0]

    def type(self, number: int) -> int:
        return self.graph.tensors[number].type

    def add_tensor(self, like: int, type=None, buffer=0, vector=False) -> int:
        """Add a tensor like another one, and return its index."""
        like, tensor = self.graph.tensors[like], self.schema.TensorT()
        tensor.name, tensor.buffer = like.name, buffer
        tensor.type = like.type if type is None else type
        tensor.shape, tensor.shapeSignature = like.shape, like.shapeSignature
        if vector and (like.shape is None or len(like.shape) == 0):
            tensor.shape = [1]
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def make(self, name: str, source: int, result: int):
        """Create an operation from one tensor to another."""
        operation = self.schema.OperatorT()
        operation.opcodeIndex = self.code(name)
        operation.inputs, operation.outputs = [source], [result]
        return operation

    def code(self, name: str) -> int:
        """Return the index of an operation code, which is added if missing."""
        number = getattr(self.schema.BuiltinOperator, name)
        codes = self.model.operatorCodes
        for index, code in enumerate(codes):
            if number in (code.builtinCode, code.deprecatedBuiltinCode):
                return index
        code = self.schema.OperatorCodeT()
        code.builtinCode, code.version = number, 1
        code.deprecatedBuiltinCode = min(number, 127)  # 127 for all above
        codes.append(code)
        return len(codes) - 1
