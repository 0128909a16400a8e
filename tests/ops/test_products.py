"""products: what they are, and their gradients in parts."""

import keras
import numpy as np
import pytest
from gradients import WAYS
from gradients import apply
from gradients import differentiate
from gradients import to_numpy
from gradients import to_tensor
from keras import ops
from samples import draw

from keras_attention.backend import PlainBackend
from keras_attention.backend import backend
from keras_attention.ops import dot_scores
from keras_attention.ops import joint_product
from keras_attention.ops import masked_loop
from keras_attention.ops import portable_program
from keras_attention.ops import product
from keras_attention.ops import products
from keras_attention.ops.operations import Recorder
from keras_attention.ops.operations import recording
from keras_attention.ops.products import PRODUCT
from keras_attention.ops.products import WIDE_PRODUCT

HALVES = ["float16", "bfloat16"]


class TestProduct:
    @pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3), (2, 5, 4, 3), (0, 3)])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_agrees_with_numpy(self, shape, dtype):
        x, kernel = draw(*shape, dtype=dtype), draw(3, 6, seed=1)
        out = apply(product, x, kernel)
        tolerance = 1e-14 if dtype == "float64" else 1e-5
        assert out.dtype == dtype
        np.testing.assert_allclose(out, x @ kernel, atol=tolerance)

    @pytest.mark.parametrize("dtype", HALVES)
    def test_is_in_the_dtype_of_the_features(self, dtype):
        x = ops.cast(draw(2, 4, 3), dtype)
        out = product(x, to_tensor(draw(3, 6)))
        assert out.dtype == x.dtype


@pytest.fixture
def colliding(monkeypatch):
    """Let the rows of every kernel collide in the cache."""
    monkeypatch.setattr(backend, "rows_collide", lambda *_: True)


@pytest.mark.usefixtures("colliding")
class TestSpareColumns:
    x, kernel = draw(4, 3), draw(3, 6, seed=1)

    def probe(self, *constants):
        return recording(Recorder([], list(constants)))

    def test_a_loop_widens_kernels_once(self):
        kernel = to_tensor(self.kernel)
        with self.probe(kernel) as probe:
            out = product(to_tensor(self.x), kernel)
        assert probe.operations == [(WIDE_PRODUCT, [0, 1])]
        wide = to_numpy(probe.constants[1])
        np.testing.assert_array_equal(wide[:, :6], self.kernel)
        assert wide.shape == (3, 6 + products.SPARE)
        assert not wide[:, 6:].any()
        np.testing.assert_allclose(
            to_numpy(out), self.x @ self.kernel, atol=1e-14
        )

    @pytest.mark.parametrize("known", [False, True])
    def test_what_no_loop_keeps_stays_as_it_is(self, known):
        kernel = to_tensor(self.kernel)
        with self.probe(*[kernel] * known) as probe:
            made = product(to_tensor(self.x), kernel + 0)
            with portable_program():
                product(to_tensor(self.x), kernel)
        assert probe.operations == [(PRODUCT, [0])] * known
        np.testing.assert_allclose(
            to_numpy(made), self.x @ self.kernel, atol=1e-14
        )

    @pytest.mark.parametrize("way", WAYS)
    def test_gradients_are_those_without(self, way, monkeypatch):
        values = [draw(3, 3, seed=n) for n in (1, 2)]
        weights = [keras.Variable(x, dtype="float64") for x in values]
        layer = keras.layers.Layer()
        layer.own = weights  # which makes them its variables

        def step(_, carry, inputs, __):
            both = [carry[0], inputs[0]]
            state = ops.sigmoid(joint_product(both, weights))
            made = product(state, ops.convert_to_tensor(weights[0]) * 2)
            return [state], [product(made, weights[1])]

        def total(xs, state):
            blank = [ops.zeros_like(state)]
            found = masked_loop(step, [state], [xs], None, blank, 3, layer)
            (state,), (outputs,) = found
            return ops.sum(state) + ops.sum(ops.square(outputs))

        given = draw(3, 2, 3), draw(2, 3, seed=3)
        found = differentiate(total, given, weights, way)
        monkeypatch.setattr(products, "backend", PlainBackend())
        want = differentiate(total, given, weights, way)
        assert found[0] == pytest.approx(want[0], rel=1e-12)
        for x, y in zip(found[1], want[1], strict=True):
            assert np.abs(y).max() > 1e-3
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


class TestDotScores:
    @pytest.mark.parametrize("dtype", HALVES)
    def test_large_halves_do_not_overflow(self, dtype):
        large = np.full((1, 2, 8), 1e4)
        out = apply(dot_scores, large, large, dtype=dtype)
        np.testing.assert_allclose(out, 8e8, rtol=1e-2)
        assert out.dtype == "float32"


class TestJointProduct:
    xs = (draw(4, 2), draw(4, 3, seed=1))
    kernels = (draw(2, 6, seed=2), draw(3, 6, seed=3))

    def test_adds_the_products(self):
        def run(x, y, k, m):
            return joint_product([x, y], [k, m])

        out = apply(run, *self.xs, *self.kernels)
        (x, y), (k, m) = self.xs, self.kernels
        np.testing.assert_allclose(out, x @ k + y @ m, atol=1e-14)

    def test_is_one_product_in_a_loop(self):
        xs, kernels = (
            [to_tensor(x) for x in part] for part in (self.xs, self.kernels)
        )
        with recording(Recorder([], kernels)) as probe:
            out = joint_product(xs, kernels)
        assert probe.operations == [(PRODUCT, [2])]
        (x, y), (k, m) = self.xs, self.kernels
        np.testing.assert_allclose(to_numpy(out), x @ k + y @ m, atol=1e-14)
