"""loops: what a step gives is stacked, on every backend, and trains."""

import keras
import numpy as np
import pytest
from gradients import BACKEND
from gradients import check_gradients
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops import freeze
from keras_attention.ops import loop_over_time
from keras_attention.ops import product
from keras_attention.ops.numerics import tanh

T, B, D, U = 4, 2, 3, 3
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="what TensorFlow alone has"
)


def arrays(steps=T):
    draw = np.random.default_rng(0).normal
    shapes = [(steps, B, D), (B, U), (D, U), (U, U)]
    return [draw(size=shape) for shape in shapes]


def loop(x, start, kernel, recurrent, masks=None):
    """A small recurrent network that counts its steps in integers."""

    def step(carry, inputs):
        state, count = carry
        x, nothing, keep = inputs
        assert nothing is None
        new = tanh(product(x, kernel) + product(state, recurrent))
        (new,) = freeze(keep, [new], [state])
        doubled = ops.concatenate([new, new], axis=-1)
        return [new, count + 1], [new, doubled]

    blank = [ops.zeros((B, U), x.dtype), ops.zeros((B, 2 * U), x.dtype)]
    carry = [start, ops.zeros((B,), "int32")]
    return loop_over_time(step, carry, [x, None, masks], blank, ops.shape(x)[0])


def reference(x, state, kernel, recurrent, masks=None):
    every = [np.zeros((0, B, U))]
    for t, one in enumerate(x):
        new = np.tanh(one @ kernel + state @ recurrent)
        if masks is not None:
            new = np.where(masks[t][:, None], new, state)
        state = new
        every.append(state[None])
    outputs = np.concatenate(every)
    return state, [outputs, np.concatenate([outputs, outputs], axis=-1)]


def total(*tensors):
    """A number that depends on all outputs, and on the last carry."""
    (state, _), outputs = loop(*tensors)
    numbers = [ops.sum(ops.square(1 + x)) for x in (state, *outputs)]
    return numbers[0] + numbers[1] + numbers[2]


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_is_a_loop(steps, masked):
    given = arrays(steps)
    masks = np.random.default_rng(1).random((steps, B)) < 0.5
    masks = [masks] if masked else []
    (state, count), outputs = loop(*map(to_tensor, [*given, *masks]))
    last, every = reference(*given, *masks)
    np.testing.assert_array_equal(to_numpy(count), [steps] * B)
    np.testing.assert_allclose(to_numpy(state), last, atol=1e-12)
    for x, y in zip(outputs, every, strict=True):
        np.testing.assert_allclose(to_numpy(x), y, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_keeps_dtypes(dtype):
    tensors = [ops.cast(to_tensor(x), dtype) for x in arrays()]
    (state, count), outputs = loop(*tensors)
    assert keras.backend.standardize_dtype(count.dtype) == "int32"
    for x in (state, *outputs):
        assert x.dtype == tensors[0].dtype


def test_gradient():
    check_gradients(total, arrays())


def test_no_steps_no_gradient_of_the_kernels():
    of_x, of_start, of_kernel, of_recurrent = gradients(total, arrays(0))
    assert of_x.shape == (0, B, D)
    assert (of_start != 0).all()
    assert (of_kernel == 0).all()
    assert (of_recurrent == 0).all()


@on_tensorflow
def test_no_steps_in_a_graph():
    tf = BACKEND
    shapes = [(None, B, D), (B, U), (D, U), (U, U)]
    run = tf.function(
        loop,
        autograph=False,
        input_signature=[tf.TensorSpec(s, "float64") for s in shapes],
    )
    given = arrays(0)
    (state, _), (outputs, _) = run(*map(to_tensor, given))
    assert outputs.shape == (0, B, U)
    np.testing.assert_array_equal(state, given[1])


@on_tensorflow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_no_rows_in_a_graph_that_does_not_know_it(jit_compile):
    tf = BACKEND

    def run(x, state):
        def step(carry, inputs):
            return carry, [carry[0] + inputs, inputs]

        with tf.GradientTape() as tape:
            tape.watch([x, state])
            _, found = loop_over_time(
                step, [state], x, [state, tf.zeros_like(x[0])], 3
            )
            value = sum(map(tf.reduce_sum, found))
        return found, tape.gradient(value, [x, state])

    shapes = (3, None, None), (None, None)
    run = tf.function(
        run,
        autograph=False,
        jit_compile=jit_compile,
        input_signature=[tf.TensorSpec(s, "float64") for s in shapes],
    )
    for shape in ((2, 4), (0, 4), (2, 0), (0, 0)):
        x, state = np.ones((3, *shape)), np.ones(shape)
        found, (of_x, of_state) = run(x, state)
        np.testing.assert_array_equal(found, [x + state, x])
        np.testing.assert_array_equal(of_x, 2 * x)
        np.testing.assert_array_equal(of_state, 3 * state)
