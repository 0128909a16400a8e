"""JAX: compiled once a shape, and never with stale weights."""

import keras
import numpy as np
import pytest
from keras import ops

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="needs JAX as the backend"
)

if keras.backend.backend() == "jax":
    import jax

    from keras_attention.backend.jax import compiled
    from keras_attention.backend.jax import is_traced


def test_it_knows_a_trace():
    said = []
    jax.jit(lambda x: said.append(is_traced(x)))(np.zeros(2))
    assert said == [True]
    assert not is_traced(ops.zeros(2))


def test_a_shape_is_traced_once_and_weights_are_read_anew():
    traced = []
    weight = keras.Variable([2.0, 3.0])

    def function(x, y):
        traced.append(x.shape)
        return x * weight, y

    run = compiled(function, [weight], [], False)
    for _ in range(3):
        for n in (1, 2):
            x = np.ones((n, 2), "float32")
            found, nothing = run(x, None)
            np.testing.assert_array_equal(found, x * [2, 3])
            assert nothing is None
    weight.assign([5.0, 7.0])
    np.testing.assert_array_equal(run(x, None)[0], x * [5, 7])
    assert traced == [(1, 2), (2, 2)]


def test_seeds_go_on():
    seed = keras.random.SeedGenerator(1)
    run = compiled(
        lambda x: x + keras.random.uniform((3,), seed=seed),
        [],
        [seed.state],
        False,
    )
    first, second = np.array(run(0.0)), np.array(run(0.0))
    assert not np.array_equal(first, second)
    again = keras.random.SeedGenerator(1)
    for want in (first, second):
        got = keras.random.uniform((3,), seed=again)
        np.testing.assert_array_equal(got, want)
