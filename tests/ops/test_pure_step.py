"""pure_step: a step of a loop as a pure function."""

import keras
import pytest
from keras import ops

from keras_attention.ops.pure_step import PureStep


class Weights:
    def __init__(self):
        self.number = keras.Variable(2.0)
        self.count = keras.Variable(3, dtype="int32", trainable=False)
        self.variables = [self.number, self.count]


def pure_step(layer):
    """Its result is `number * x + constant`, and it counts by integers."""

    def step(layer, carry, inputs, constants):
        (x, n), (y,) = inputs, constants
        found = layer.number * x + y
        return [carry[0] + ops.cast(n, "float32")], [found]

    inputs = [ops.ones((4, 1)), ops.ones((4,), "int32")]
    return PureStep(step, inputs, layer, [ops.ones((1,))])


@pytest.mark.tensorflow
def test_a_graph_does_not_keep_the_layer():
    import tensorflow as tf

    with tf.Graph().as_default():
        layer = Weights()
        step = pure_step(layer)
        assert step.layer() is layer
        del layer
        with pytest.raises(RuntimeError, match="the layer was deleted"):
            step.variables  # noqa: B018
    layer = Weights()
    step = pure_step(layer)
    del layer
    assert len(step.variables) == 1
