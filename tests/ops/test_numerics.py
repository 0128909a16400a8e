"""numerics: nothing overflows, vanishes, divides by zero or loses digits."""

import numpy as np
import pytest
from gradients import apply
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops import masked_softmax
from keras_attention.ops import unit_vectors
from keras_attention.ops.numerics import layer_norm
from keras_attention.ops.numerics import tanh

HALVES = ["float16", "bfloat16"]
DTYPES = ["float32", "float64", *HALVES]


def soft(scores, mask=None):
    mask = None if mask is None else to_tensor(np.asarray(mask))
    return to_numpy(masked_softmax(to_tensor(np.asarray(scores)), mask))


class TestTanh:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_agrees_with_numpy(self, dtype):
        x = np.array([-1e4, -50.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, 50.0, 1e4])
        out = apply(tanh, x, dtype=dtype)
        tolerance = {"float64": 1e-15, "float32": 1e-6}.get(dtype, 1e-2)
        np.testing.assert_allclose(out, np.tanh(x), atol=tolerance)

    def test_gradient(self):
        x = np.array([-1e4, 0.0, 1e4])
        (g,) = gradients(lambda x: ops.sum(tanh(x)), [x])
        np.testing.assert_array_equal(g, [0, 1, 0])


class TestMaskedSoftmax:
    @pytest.mark.parametrize(
        ("scores", "mask"),
        [([-1e4, 5.0], [1, 0]), ([-1e20, 5.0], [1, 0]), ([1e30, -1e30], None)],
    )
    def test_one_score_may_be_a_choice(self, scores, mask):
        mask = None if mask is None else np.array([mask], bool)
        np.testing.assert_array_equal(soft([scores], mask), [[1, 0]])

    def test_sums_are_wide(self):
        """In float16 a sum of 4,000 equal weights would be off."""
        scores = ops.zeros((1, 4000), "float16")
        out = to_numpy(masked_softmax(scores))
        np.testing.assert_allclose(out, 1 / 4000, rtol=1e-3)


class TestUnitVectors:
    @pytest.mark.parametrize("dtype", HALVES)
    def test_large_halves_do_not_overflow(self, dtype):
        out = apply(unit_vectors, np.full((1, 16), 6e4), dtype=dtype)
        np.testing.assert_allclose(out, 1 / 4, rtol=1e-2)

    @pytest.mark.parametrize("size", [1e-9, 1e30])
    def test_squares_neither_vanish_nor_overflow(self, size):
        x = np.array([[3.0, 4.0]], "float32") * np.float32(size)
        out = apply(unit_vectors, x)
        np.testing.assert_allclose(out, [[0.6, 0.8]], rtol=1e-6)


class TestLayerNorm:
    @pytest.mark.parametrize("dtype", HALVES)
    def test_nothing_overflows(self, dtype):
        given = np.array([[6e4, -6e4, 6e4, -6e4]]), np.ones(4), np.zeros(4)
        out = apply(lambda *x: layer_norm(*x, 1e-3), *given, dtype=dtype)
        np.testing.assert_allclose(out, np.sign(given[0]), atol=1e-2)

    def test_equal_features_become_the_offset(self):
        x, ones = np.full((2, 4), 7.0), np.ones(4)

        def norm(x):
            return layer_norm(x, to_tensor(ones), to_tensor(3 * ones), 1e-3)

        np.testing.assert_allclose(apply(norm, x), 3)
        (g,) = gradients(lambda x: ops.sum(ops.square(norm(x))), [x])
        np.testing.assert_allclose(g, 0, atol=1e-12)
