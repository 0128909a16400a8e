"""share_equal: one node for what several compute alike."""

import numpy as np
import onnx
from onnx import helper
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from keras_attention.export.onnx_sharing import share_equal

FLOATS = onnx.TensorProto.FLOAT


def constant(name, *values):
    return numpy_helper.from_array(np.array(values, "float32"), name)


def shared(nodes, outputs, constants=()):
    """Share what is equal; return the graph and what it gives for 1 and 2."""
    x = helper.make_tensor_value_info("x", FLOATS, [2])
    outputs = [helper.make_tensor_value_info(y, FLOATS, [2]) for y in outputs]
    graph = helper.make_graph(nodes, "g", [x], outputs, constants)
    share_equal(graph)
    opset = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opset)
    onnx.checker.check_model(model, full_check=True)
    run = ReferenceEvaluator(model)
    return graph, [y.tolist() for y in run.run(None, {"x": np.float32([1, 2])})]


def test_equal_constants_and_nodes_are_one():
    add, times = (
        [
            helper.make_node(kind, ["x", "one"], ["a"]),
            helper.make_node(kind, ["x", "also"], ["b"]),
            helper.make_node("Sub", ["a", "b"], ["y"]),
        ]
        for kind in ("Add", "Mul")
    )
    constants = constant("one", 1), constant("also", 1), constant("no", 2)
    for nodes in (add, times):
        graph, found = shared(nodes, ["y"], constants)
        assert [x.name for x in graph.initializer] == ["one", "no"]
        assert len(graph.node) == 2
        assert [*graph.node[1].input] == ["a", "a"]
        assert found == [[0, 0]]


def test_other_attributes_are_another_node():
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], axis=0),
        helper.make_node("Cast", ["x"], ["b"], to=FLOATS),
        helper.make_node("Cast", ["x"], ["c"], to=onnx.TensorProto.INT32),
        helper.make_node("Cast", ["c"], ["d"], to=FLOATS),
        helper.make_node("Sum", ["a", "b", "d"], ["y"]),
    ]
    graph, _ = shared(nodes, ["y"])
    assert len(graph.node) == 5


def test_what_a_graph_gives_keeps_its_name():
    nodes = [helper.make_node("Neg", ["x"], [name]) for name in ("y", "z")]
    graph, found = shared(nodes, ["y", "z"])
    assert len(graph.node) == 2
    assert found == [[-1, -2]] * 2


def test_what_a_loop_reads_is_renamed():
    none = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [])]
    going = helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, [])
    inner = helper.make_tensor_value_info("s", FLOATS, [2])
    after = [
        helper.make_tensor_value_info("on", onnx.TensorProto.BOOL, []),
        helper.make_tensor_value_info("t", FLOATS, [2]),
    ]
    body = [
        helper.make_node("Identity", ["go"], ["on"]),
        helper.make_node("Abs", ["b"], ["p"]),
        helper.make_node("Abs", ["b"], ["q"]),
        helper.make_node("Sum", ["s", "p", "q"], ["t"]),
    ]
    body = helper.make_graph(body, "body", [*none, going, inner], after)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Neg", ["x"], ["b"]),
        helper.make_node("Loop", ["twice", "true", "a"], ["y"], body=body),
    ]
    values = {"twice": np.int64(2), "true": np.bool_(True)}
    values = [
        numpy_helper.from_array(np.asarray(x), name)
        for name, x in values.items()
    ]
    graph, found = shared(nodes, ["y"], values)
    (loop,) = (node for node in graph.node if node.op_type == "Loop")
    assert len(graph.node) == 2
    assert [*loop.attribute[0].g.node[1].input] == ["a"]
    assert len(loop.attribute[0].g.node) == 3
    assert found == [[3, 6]]
