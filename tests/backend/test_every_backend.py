"""What backends can do: gradients of one's own, loops, compiled functions."""

import keras
import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.backend import backend
from keras_attention.ops import loop_over_time

ARRAYS = [np.array([1.0, 2.0]), np.array([3.0, 5.0])]


@pytest.mark.skipif(
    not backend.has_custom_gradients, reason="torch has its own alone"
)
@pytest.mark.parametrize("several", [False, True])
def test_a_gradient_of_its_own(several):
    def function(x, y):
        if several:
            return (x + y, x * y), lambda one, two: (one + two, one - two)
        return x * y, lambda dy: (10 * dy, 100 * dy)

    def total(x, y):
        results = backend.custom_gradient(function)(x, y)
        one, two = results if several else (results, 0)
        return ops.sum(2 * one + 7 * two)

    found = gradients(total, ARRAYS)
    wanted = [[9, 9], [-5, -5]] if several else [[20, 20], [200, 200]]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.skipif(
    backend.fastest_loop(loop_over_time) is loop_over_time,
    reason="the plain loop is fast",
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_its_loop_is_the_plain_loop(steps, reverse):
    x = to_tensor(np.random.default_rng(0).normal(size=(steps, 3)))
    mask = to_tensor(np.arange(3 * steps).reshape(steps, 3) % 2 > 0)

    def step(carry, inputs):
        total, count = carry
        x, keep, nothing = inputs
        assert nothing is None
        total = ops.where(keep, total * 2 + x, total)
        return [total, count + 1], [total, ops.stack([x, x])]

    carry = [ops.zeros((3,), x.dtype), ops.zeros((), "int32")]
    blank = [ops.zeros((3,), x.dtype), ops.zeros((2, 3), x.dtype)]
    arguments = step, carry, [x, mask, None], blank, steps, reverse
    found, expected = (
        keras.tree.flatten(loop(*arguments))
        for loop in (backend.fastest_loop(loop_over_time), loop_over_time)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


class TestCompiled:
    @pytest.mark.parametrize("jit_compile", [False, True])
    def test_weights_are_read_anew(self, jit_compile):
        """On TensorFlow shapes share a graph, on JAX each has its own."""
        traced = []
        weight = keras.Variable([2.0, 3.0])

        def function(x, y):
            traced.append(backend.is_traced(x))
            return {"x": x * weight, "y": y}

        run = backend.compiled(function, [weight], [], jit_compile)
        for values in ([2, 3], [5, 7]):  # as training does
            weight.assign(values)
            for n in range(1, 6):
                x = np.full((n, 2), n, "float32")
                found = run(to_tensor(x), None)
                np.testing.assert_array_equal(to_numpy(found["x"]), x * values)
                assert found["y"] is None
                assert not getattr(found["x"], "requires_grad", False)
        assert not backend.is_traced(found["x"])
        # The graph of the first shape, and one for all others.
        graphs = {"tensorflow": [True] * 2, "jax": [True] * 5}
        assert traced == graphs.get(backend.name, traced)

    def test_random_states_go_on(self):
        """Those of the function, or others in their place."""
        own, other = (keras.random.SeedGenerator(n) for n in (1, 2))
        run = backend.compiled(
            lambda x: x + keras.random.uniform((3,), seed=own),
            [],
            [own.state],
            False,
        )
        zero = to_tensor(np.zeros(3, "float32"))
        found = [to_numpy(run(zero)) for _ in range(2)]
        found += [to_numpy(run(zero, states=[other.state])) for _ in range(2)]
        found += [to_numpy(run(zero))]
        again = keras.random.SeedGenerator(1)
        second = keras.random.SeedGenerator(2)
        for seed, got in zip(
            [again, again, second, second, again], found, strict=True
        ):
            want = to_numpy(keras.random.uniform((3,), seed=seed))
            np.testing.assert_array_equal(got, want)
