"""Rewrite new axes in a graph that the LiteRT converter may not support.

TensorFlow writes `x[None, None]` and `x[..., None]` as one slice with new axes.
The converter does not accept such a slice of a tensor of unknown rank, such as
the causal mask in Keras' `MultiHeadAttention`.
"""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")


def expand_new_axes(folder: str | Path):
    """Replace new axes in slices of a SavedModel by `ExpandDims`.

    Only slices that keep all other axes completely are rewritten.

    Args:
        folder: The SavedModel, which is changed in place.
    """
    file = Path(folder) / tf.saved_model.SAVED_MODEL_FILENAME_PB
    content = saved_model_pb2.SavedModel()
    content.ParseFromString(file.read_bytes())
    graph = content.meta_graphs[0].graph_def
    for body in (graph.node, *(x.node_def for x in graph.library.function)):
        constants = {x.name: x for x in body if x.op == "Const"}
        for node in list(body):
            if node.op == "StridedSlice":
                _rewrite(body, node, constants)
    file.write_bytes(content.SerializeToString())


def _rewrite(body, node, constants):
    """Replace a slice that only adds axes by one operation per axis."""
    axes = _new_axes(node, constants)
    sliced = node.input[0]
    output = ":output:0" if ":" in node.input[1] else ""
    for i, axis in enumerate(axes):
        is_last = i == len(axes) - 1
        number = body.add(name=f"{node.name}/axis_{i}", op="Const")
        number.attr["dtype"].type = tf.int32.as_datatype_enum
        number.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(axis))
        new = node if is_last else body.add(name=f"{node.name}/new_{i}")
        dtype = node.attr["T"].type
        new.op = "ExpandDims"
        del new.input[:]
        new.input.extend([sliced, f"{number.name}{output}"])
        sliced = f"{new.name}{output}"
        if is_last:
            new.attr.clear()
        new.attr["T"].type = dtype
        new.attr["Tdim"].type = tf.int32.as_datatype_enum


def _new_axes(node, constants) -> list[int]:
    """List the axes that a slice adds, in the order to add them in.

    Axes before an ellipsis are counted from the first axis, and others from
    the last. The list is empty if the slice does anything else.
    """
    bits = {name: value.i for name, value in node.attr.items()}
    strides = constants.get(node.input[3].partition(":")[0])
    if strides is None or bits.get("shrink_axis_mask"):
        return []
    strides = tf.make_ndarray(strides.attr["value"].tensor)
    masks = [
        [bool(bits.get(name, 0) >> i & 1) for i in range(len(strides))]
        for name in MASKS
    ]
    front, back, seen = [], [], False
    for i, (begins, ends, rest, new) in enumerate(zip(*masks, strict=True)):
        if new and not rest:
            back.append(i - len(strides)) if seen else front.append(i)
        elif not rest and not (begins and ends and strides[i] == 1):
            return []
        seen |= rest
    return [*front, *reversed(back)]
