"""Convert recurrent layers of Keras to operators of ONNX instead of loops."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from keras import tree

from keras_attention.export.onnx_sharing import graphs_of
from keras_attention.export.recurrent import replaced_loop
from keras_attention.extras import require
from keras_attention.layers import loops_as_keras
from keras_attention.layers import sublayers

# Takes the place of the operator in a graph of TensorFlow, which knows the
# shapes of its outputs. It is never run.
MARKER = "CudnnRNNV3"
OPERATORS = {  # the places of their gates in Keras' kernels, and attributes
    layers.LSTMCell: ("LSTM", (0, 3, 1, 2), {}),
    layers.GRUCell: ("GRU", (0, 1, 2), {"linear_before_reset": 1}),
}
KERNEL, STATE_KERNEL = 1, 2  # among the inputs of an operator
BY_NAME = {name: (gates, more) for name, gates, more in OPERATORS.values()}


@contextlib.contextmanager
def onnx_recurrence(model: layers.Layer) -> Iterator[None]:
    """Trace each layer with an LSTM or GRU cell as one operation.

    onnxruntime runs an operator of ONNX much faster than a loop. A function
    that is traced inside the block can only be converted to ONNX. Layers whose
    cells ONNX lacks, for example because of their activations, do not change.
    The results are those of Keras, for any mask.

    Args:
        model: The model.
    """
    with contextlib.ExitStack() as stack:
        for layer in sublayers(model):
            if loops_as_keras(layer) and _is_known(layer.cell):
                stack.enter_context(replaced_loop(layer, _inner_loop))
        yield


def _is_known(cell):
    """Tell whether an operator computes what a cell does."""
    return (
        type(cell) in OPERATORS
        and cell.compute_dtype == "float32"
        and cell.activation is keras.activations.tanh
        and cell.recurrent_activation is keras.activations.sigmoid
        and getattr(cell, "reset_after", True)
    )


def _inner_loop(layer, sequences, initial_state, mask, **_):
    """Return what `RNN.inner_loop` does: last output, all outputs, states."""
    states = tree.flatten(initial_state)
    batch, steps = tf.unstack(tf.shape(sequences)[:2])
    rows = tf.maximum(batch, 1)  # onnxruntime ends the process for none
    if mask is None:
        x = tf.reverse(sequences, [1]) if layer.go_backwards else sequences
        x = _pad(tf.transpose(x, (1, 0, 2)), rows - batch, 1)
        counts = tf.fill([rows], steps)
    else:
        mask = tf.cast(tree.flatten(mask)[0], tf.bool)
        mask = tf.reshape(mask, tf.shape(mask)[:2])  # (B, T) or (B, T, 1)
        mask = tf.reverse(mask, [1]) if layer.go_backwards else mask
        counts, read, write = _places(mask, rows, layer)
        x = _take(sequences, read)
    outputs, after = _operate(
        layer.cell, x, [_pad(s, rows - batch, 0) for s in states], counts
    )
    after = [s[:batch] for s in after]
    if mask is None:
        outputs = tf.transpose(outputs, (1, 0, 2))[:batch]
    else:
        outputs = _take(outputs, write)
        any_step = tf.reduce_any(mask, axis=1, keepdims=True)
        after = [  # onnxruntime gives 0 where there is no step
            tf.where(any_step, new, old)
            for new, old in zip(after, states, strict=True)
        ]
    last = outputs[:, -1]
    if not layer.return_sequences:
        outputs = last[:, None]
    return last, outputs, tree.pack_sequence_as(initial_state, after)


def _pad(x, count, axis):
    """Add zeros to the end of one axis."""
    return tf.pad(x, [[0, count if i == axis else 0] for i in range(x.ndim)])


def _take(x, places):
    """Take vectors of a `(M, N, D)` tensor by number; `M N` is one of zeros."""
    size = x.shape[-1]
    flat = tf.concat([tf.reshape(x, (-1, size)), tf.zeros((1, size))], axis=0)
    return tf.gather(flat, places)


def _places(mask, rows, layer):
    """Compute indices that move unmasked steps to the front, and back.

    Args:
        mask: Booleans `(B, T)`, in the order in which steps are run.
        rows: Number of rows of the operator.
        layer: The recurrent layer.

    Returns:
        The number of unmasked steps `(rows,)`; indices `(T, rows)` of the `B T`
        vectors of the sequence, for the operator; and indices `(B, T)` of the
        `T rows` vectors that it returns.
    """
    batch, steps = tf.unstack(tf.shape(mask))
    times, row = tf.range(steps), tf.range(batch)[:, None]
    counts = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
    first = tf.where(mask, steps - times, -times)  # distinct
    order = tf.math.top_k(first, steps).indices
    if layer.go_backwards:
        order = steps - 1 - order
    read = tf.transpose(row * steps + order)
    none = tf.fill([steps, rows - batch], batch * steps)
    is_given = mask if layer.zero_output_for_mask else counts > 0
    write = tf.where(is_given, (counts - 1) * rows + row, steps * rows)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    lengths = _pad(lengths, rows - batch, 0)
    return lengths, tf.concat([read, none], axis=1), write


def _operate(cell, x, states, counts):
    """Add the marker: return outputs `(T, B, U)` and states `(B, U)`."""
    name, gates, _ = OPERATORS[type(cell)]
    with tf.init_scope():  # outside of the graph, where they have values
        kernels = _kernels(cell, len(gates))
    parts = np.split(kernels, len(gates), axis=1)
    params = np.concatenate([parts[i].T for i in gates])
    found = tf.raw_ops.CudnnRNNV3(
        input=x,
        input_h=states[0][None],
        input_c=states[-1][None],
        params=tf.constant(params.ravel()),
        sequence_lengths=counts,
        rnn_mode=name.lower(),
        num_proj=cell.units,  # which tf2onnx need not know of a state
        is_training=False,
    )
    outputs = tf.ensure_shape(found.output, (None, None, cell.units))
    after = [found.output_h, found.output_c][: len(states)]
    return outputs, [tf.ensure_shape(s[0], (None, cell.units)) for s in after]


def _kernels(cell, count):
    """Return both kernels, and the biases of the inputs and of the state."""
    bias = np.zeros((2, count * cell.units), "float32")
    if cell.use_bias:
        given = np.atleast_2d(keras.ops.convert_to_numpy(cell.bias))
        bias[: len(given)] = given
    kernels = cell.kernel, cell.recurrent_kernel
    kernels = [keras.ops.convert_to_numpy(x) for x in kernels]
    return np.concatenate([*kernels, bias])


def _write_operator(context, node, name, _):
    """Convert the marker, as a handler of tf2onnx."""
    kind = node.get_attr_str("rnn_mode").upper()
    gates, more = BY_NAME[kind]
    units = node.get_attr_value("num_proj")
    kernels = node.inputs[3].get_tensor_value(as_list=False)
    kernels = kernels.reshape(len(gates) * units, -1)
    inputs, state, bias = np.split(kernels, [-units - 2, -2], axis=1)
    kernels = [
        context.make_const(f"{name}_{i}", kernel[None]).output[0]
        for i, kernel in enumerate([inputs, state, bias.T.ravel()])
    ]
    x, h, c, _, counts = node.input
    outputs, *after = node.output[: 3 if kind == "LSTM" else 2]
    context.remove_node(node.name)
    made = context.make_node(
        kind,
        [x, *kernels, counts, *[h, c][: len(after)]],
        attr={"hidden_size": units, **more},
        outputs=[f"{name}_steps", *after],
        name=name,
    ).output[0]
    one = context.make_const(f"{name}_axis", np.int64([1])).output[0]
    context.make_node("Squeeze", [made, one], outputs=[outputs])


RECURRENCE = {MARKER: (_write_operator, [])}


def store_in_8_bits(graph: Any) -> None:
    """Store the float32 kernels of recurrent operators in 8 bits.

    onnxruntime has no GRU operator that computes with integers. It multiplies
    the kernels by their scales once, when it loads the file.

    Args:
        graph: A graph of ONNX, changed in place.
    """
    values = {x.name: x for x in graph.initializer}
    nodes = []
    for node in graph.node:
        for inner in graphs_of(node):
            store_in_8_bits(inner)
        if node.op_type in BY_NAME:
            for i in (KERNEL, STATE_KERNEL):
                kernel = values.pop(node.input[i], None)
                if kernel is not None:
                    nodes += _spread(graph, kernel)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _spread(graph, kernel):
    """Replace a kernel by 8 bits; return the nodes that restore it."""
    onnx = require("onnx", "onnx", "store_in_8_bits")
    value, name = onnx.numpy_helper.to_array(kernel), kernel.name
    scale = np.abs(value).max(axis=-1, keepdims=True) / 127
    scale = np.maximum(scale, np.finfo("float32").tiny)
    whole, scales, wide = (f"{name}_{x}" for x in ("int8", "scale", "wide"))
    bits = np.rint(value / scale).astype("int8")
    graph.initializer.remove(kernel)
    for x, own in ((bits, whole), (scale.astype("float32"), scales)):
        graph.initializer.append(onnx.numpy_helper.from_array(x, own))
    make = onnx.helper.make_node
    return [
        make("Cast", [whole], [wide], to=onnx.TensorProto.FLOAT),
        make("Mul", [wide, scales], [name]),
    ]
