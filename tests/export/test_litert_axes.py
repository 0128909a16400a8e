"""expand_new_axes: slices with new axes, as operations of LiteRT."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.export.litert_axes import expand_new_axes
from keras_attention.export.saved_model import save_signatures

SLICES = {
    "front": lambda x: x[None, None],
    "whole": lambda x: x[None, :, None, :],
    "back": lambda x: x[..., None, None],
    "around": lambda x: x[None, ..., None, :],
    "between": lambda x: x[:, None],
}
OTHERS = {
    "cut": lambda x: x[None, 1:],
    "turned": lambda x: x[:, None, ::-1],
    "taken": lambda x: x[None, 0],
}


def rewritten(function, folder):
    """Run a function before and after; list the operations after."""
    spec = tf.TensorSpec((None, None), tf.float32, "x")
    traced = tf.function(lambda x: {"y": function(x)}, [spec], autograph=False)
    save_signatures(folder, {"serving_default": traced})
    expand_new_axes(folder)
    served = tf.saved_model.load(folder).signatures["serving_default"]
    graph = served.graph.as_graph_def()
    bodies = [graph.node, *(x.node_def for x in graph.library.function)]
    return served, [node.op for body in bodies for node in body]


@pytest.mark.parametrize("name", SLICES | OTHERS)
def test_slices_give_what_they_gave(name, tmp_path):
    function = (SLICES | OTHERS)[name]
    served, operations = rewritten(function, tmp_path)
    assert ("StridedSlice" in operations) == (name in OTHERS)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    found = served(x=tf.constant(x))["y"]
    np.testing.assert_array_equal(found, function(x))


def test_other_slices_keep_their_attributes(tmp_path):
    """Such as one without masks, whose attributes are left out."""
    served, operations = rewritten(
        lambda x: tf.strided_slice(x, [0, 1], [2, 3]), tmp_path
    )
    assert "StridedSlice" in operations
    assert served(x=tf.zeros((2, 3)))["y"].shape == (2, 2)
