"""TensorFlow: one graph for all shapes, with and without XLA."""

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.backend.tensorflow import compiled
    from keras_attention.backend.tensorflow import is_traced


def test_it_knows_a_trace():
    said = []
    tf.function(lambda: said.append(is_traced(None)))()
    assert said == [True]
    assert not is_traced(None)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_shapes_share_a_graph(jit_compile):
    traced = []
    weight = keras.Variable([2.0, 3.0])

    def function(x, y):
        traced.append(x.shape)
        return {"x": x * weight, "y": y}

    run = compiled(function, [weight], [], jit_compile)
    for n in range(1, 6):
        x = np.random.default_rng(n).normal(size=(n, 2)).astype("float32")
        found = run(tf.constant(x), None)
        np.testing.assert_allclose(found["x"], x * [2, 3], rtol=1e-6)
        assert found["y"] is None
    assert len(traced) == 2  # the first, and one for all others
    weight.assign([1.0, 1.0])  # as training does
    np.testing.assert_array_equal(run(tf.constant(x), None)["x"], x)
