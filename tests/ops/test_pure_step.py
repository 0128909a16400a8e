"""pure_step: a step of a loop as a pure function."""

import keras
import numpy as np
import pytest
from gradients import to_numpy
from keras import ops

from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.pure_step import PureStep
from keras_attention.ops.pure_step import is_float
from keras_attention.ops.pure_step import split
from keras_attention.ops.recorders import Recorder


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


def test_values_of_variables_are_arguments():
    step = pure_step(layer := Weights())
    assert [to_numpy(ops.sum(x)) for x in step.given] == [2.0, 1.0]
    recorder = step.recorder(Recorder, [5.0 * x for x in step.given])
    (carry,), (found,) = step.run(
        recorder, [0.0], [ops.ones((1,))], [ops.ones((), "int32")]
    )
    assert (to_numpy(carry), to_numpy(found)[0]) == (1.0, 15.0)
    assert to_numpy(layer.number) == 2.0


@pytest.mark.tensorflow
@pytest.mark.skipif(
    fast_path("reference_to") is None, reason="about what fast paths do"
)
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


def test_split_leaves_the_rest():
    assert split(np.arange(6), 1, 2) == [[0], [1, 2], [3, 4, 5]]


def test_what_has_a_gradient_is_a_float():
    given = [ops.ones(2), ops.ones(2, "int32"), ops.ones(2, "bool"), None]
    assert [is_float(x) for x in given] == [True, False, False, False]
