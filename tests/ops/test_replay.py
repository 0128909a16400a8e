"""replay: the loop that trains fast is the plain loop, and so its gradient."""

import keras
import numpy as np
import pytest
from gradients import WAYS
from gradients import derivative
from gradients import differentiate
from gradients import to_numpy
from gradients import to_tensor
from keras import ops
from samples import draw
from tiers import some

from keras_attention.backend import backend
from keras_attention.ops import additive_scores
from keras_attention.ops import dot_scores
from keras_attention.ops import freeze
from keras_attention.ops import hoist
from keras_attention.ops import joint_product
from keras_attention.ops import loop_over_time
from keras_attention.ops import masked_loop
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops.replay import PureStep

B, T, S, U = 3, 4, 5, 6
is_fast = pytest.mark.skipif(
    not backend.has_custom_gradients, reason="about gradients of its own"
)


class Weights(keras.layers.Layer):
    """A kernel twice as tall as wide, a vector and a number."""

    def build(self, _):
        shapes = {"kernel": (2 * U, U), "vector": (U,), "number": ()}
        for n, (name, shape) in enumerate(shapes.items()):
            weight = self.add_weight(name=name, shape=shape, autocast=False)
            weight.assign(draw(*shape, seed=n))
            setattr(self, name, weight)


@pytest.fixture
def weights():
    layer = Weights(dtype="float64")
    layer.build(None)
    return layer


def attentive(weights):
    """A step with every operation, and with arithmetic on weights."""

    def step(carry, inputs, constants):
        state, total = carry
        x, keep, nothing = inputs
        assert nothing is None
        keys, memory = constants
        half = hoist(lambda kernel: kernel[:U] + kernel[U:], weights.kernel)
        query = ops.expand_dims(product(state, half), 1)
        scores = dot_scores(query, keys) + additive_scores(
            query, keys, weights.number * weights.vector
        )
        context = mix(ops.softmax(scores, axis=-1), memory)[:, 0]
        top = hoist(lambda kernel: kernel[:U], weights.kernel)
        bottom = hoist(lambda kernel: kernel[U:], weights.kernel)
        new = joint_product([context, state], [top, bottom]) + x
        new = ops.sigmoid(new) * ops.cast(weights.number, new.dtype)
        after = freeze(keep, [new, total + new * new], [state, total])
        return after, [new, scores[:, 0]]

    return step


def arrays(steps=T):
    shapes = [(steps, B, U), (B, U), (B, U), (B, S, U), (B, S, U)]
    return [draw(*shape, seed=n) for n, shape in enumerate(shapes)]


def run(loop, step, x, state, total, keys, memory, masked=False):
    keep = None
    if masked:
        keep = ops.reshape(ops.arange(ops.size(x[:, :, 0])) % 3 > 0, (-1, B))
    blank = [ops.zeros((B, U), x.dtype), ops.zeros((B, S), x.dtype)]
    return loop(
        step,
        [state, total],
        [x, keep, None],
        blank,
        ops.shape(x)[0],
        constants=(keys, memory),
    )


def plain(step, *arguments, constants):
    def one(carry, inputs):
        return step(carry, inputs, constants)

    return loop_over_time(one, *arguments)


def fast(weights, **options):
    def loop(step, *arguments, constants):
        states, inputs, *rest = arguments
        return masked_loop(
            with_layer(step),
            states,
            inputs,
            None,
            *rest,
            weights,
            constants,
            **options,
        )

    return loop


def with_layer(step):
    return lambda _, *arguments: step(*arguments)


def number(found):
    """A number that depends on the last carry and on all outputs."""
    carry, outputs = found
    return sum(
        ops.sum(ops.square(k + 1 + x)) for k, x in enumerate([*carry, *outputs])
    )


@pytest.mark.slow
@pytest.mark.parametrize("masked", some([True, False], 1))
@pytest.mark.parametrize("way", WAYS)
def test_its_gradients_are_those_of_the_plain_loop(weights, way, masked):
    step, every = attentive(weights), weights.trainable_variables

    def total(loop):
        return lambda *x: number(run(loop, step, *x, masked=masked))

    found = differentiate(total(fast(weights)), arrays(), every, way)
    expected = differentiate(total(plain), arrays(), every, way)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    for x, y in zip(found[1], expected[1], strict=True):
        assert np.abs(y).max() > 1e-3
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_constants_that_a_step_makes_itself(weights, way):
    """They are none: their gradient goes back into the step."""

    def step(carry, inputs, constants):
        (state,), (x,) = carry, inputs
        (keys,) = constants
        moved = keys + ops.expand_dims(x, 1)  # others at each step
        query = ops.expand_dims(state, 1)
        weight = dot_scores(query, moved)
        weight = weight + additive_scores(query, moved, weights.vector)
        new = mix(ops.softmax(weight, axis=-1), moved)[:, 0]
        shape = hoist(lambda x: ops.sum(x, axis=1), moved)
        return [new], [product(new, weights.kernel[:U] * 2) + shape]

    def total(loop):
        def function(x, state, keys):
            blank = [ops.zeros((B, U), x.dtype)]
            found = loop(step, [state], [x], blank, T, constants=(keys,))
            return number(found)

        return function

    given = [draw(T, B, U), draw(B, U, seed=1), draw(B, S, U, seed=2)]
    every = weights.trainable_variables
    found = differentiate(total(fast(weights)), given, every, way)
    expected = differentiate(total(plain), given, every, way)
    for x, y in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_what_counts_steps_takes_the_plain_loop(weights):
    def step(_, carry, inputs, constants):
        return [carry[0] + 1], [inputs[0]]

    x = to_tensor(draw(T, B, U))
    blank = [ops.zeros((B, U), x.dtype)]
    (count,), _ = masked_loop(
        step, [ops.zeros((B,), "int32")], [x], None, blank, T, weights
    )
    assert to_numpy(count).tolist() == [T] * B


@is_fast
@pytest.mark.parametrize("scored", [number, lambda found: ops.sum(found[1][0])])
def test_a_second_derivative_is_refused(weights, scored):
    """Also where the cotangents do not depend on anything."""
    step, given = attentive(weights), arrays()
    loop = fast(weights)

    def first(x):
        return derivative(lambda x: scored(run(loop, step, x, *rest)), x)

    rest = [to_tensor(x) for x in given[1:]]
    x = to_tensor(given[0])
    with pytest.raises(NotImplementedError, match="training=False"):
        derivative(lambda x: ops.sum(first(x) ** 2), x)


def test_without_training_there_is_a_second_derivative(weights):
    step, given = attentive(weights), arrays()
    rest = [to_tensor(x) for x in given[1:]]

    loop = fast(weights, training=False)

    def first(x):
        return derivative(lambda x: number(run(loop, step, x, *rest)), x)

    found = derivative(lambda x: ops.sum(first(x)), to_tensor(given[0]))
    assert np.abs(to_numpy(found)).max() > 1e-3


# The step of a loop as a pure function.


class Counted:
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
        layer = Counted()
        step = pure_step(layer)
        assert step.layer() is layer
        del layer
        with pytest.raises(RuntimeError, match="its layer, which was deleted"):
            step.variables  # noqa: B018
    layer = Counted()
    step = pure_step(layer)
    del layer
    assert len(step.variables) == 1
