"""tokens: no weight for padding, and cross-entropy without one-hot."""

import keras
import numpy as np
import pytest
from gradients import BACKEND
from gradients import check_gradients
from gradients import gradients
from keras import ops

from keras_attention.backend import backend
from keras_attention.ops.tokens import BLOCKS
from keras_attention.ops.tokens import WIDE
from keras_attention.ops.tokens import count_blocks
from keras_attention.ops.tokens import fused
from keras_attention.ops.tokens import pick
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import weighted_sum

IDS = np.array([[5, 3, 0, 0], [1, 2, 3, 0]], "int32")


def logits(dtype="float64", scale=3.0):
    x = scale * np.random.default_rng(0).normal(size=(2, 4, 7))
    return ops.convert_to_tensor(x, dtype)


def crossentropy(ids, x, smoothing):
    """By definition, with the one-hot targets spelled out."""
    x = ops.convert_to_numpy(x).astype("float64")
    log_p = x - np.log(np.exp(x - x.max()).sum(-1, keepdims=True)) - x.max()
    target = (1 - smoothing) * np.eye(7)[ids] + smoothing / 7
    return -(target * log_p).sum(-1)


class TestTokenCrossentropy:
    @pytest.mark.parametrize("wrong", [7, -1, 100])
    def test_an_id_outside_is_not_a_number(self, wrong):
        ids = np.where(IDS == 5, wrong, IDS)
        got = ops.convert_to_numpy(token_crossentropy(ids, logits(), 0.1))
        np.testing.assert_array_equal(np.isnan(got), ids == wrong)


class TestGradientOfCrossentropy:
    """Of logits in one block, and of so many classes that rows go by blocks."""

    @pytest.fixture(params=[7, WIDE], ids=["narrow", "wide"])
    def classes(self, request):
        return request.param

    @staticmethod
    def total(smoothing=0.0):
        def total(x):
            weights = np.array([[1.0, -2.0, 0.0, 3.0], [0.5, 1.0, 2.0, 1.0]])
            losses = token_crossentropy(IDS, x, smoothing)
            return ops.sum(losses * ops.cast(weights, losses.dtype))

        return total

    @staticmethod
    def drawn(classes, dtype="float64"):
        draw = np.random.default_rng(0).normal
        return draw(size=(2, 4, classes)).astype(dtype)

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_is_the_slope(self, classes, smoothing):
        check_gradients(self.total(smoothing), [self.drawn(classes)])

    def test_of_certainty_is_zero(self, classes):
        x = np.full((2, 4, classes), -1e4)
        np.put_along_axis(x, IDS[..., None], 1e4, -1)
        (got,) = gradients(self.total(), [x])
        np.testing.assert_array_equal(got, 0)

    def test_of_an_id_outside_is_zero(self, classes):
        x = self.drawn(classes)
        ids = np.where(IDS == 5, classes, IDS)

        def total(x):
            losses = token_crossentropy(ids, x, 0.1)
            return ops.sum(ops.where(losses == losses, losses, 0.0))

        (got,) = gradients(total, [x])
        assert (got[0, 0] == 0).all()
        assert np.isfinite(got).all()

    def test_has_a_second_derivative(self, classes):
        def slope(x):
            if keras.backend.backend() == "torch":
                x.requires_grad_()
                losses = ops.sum(token_crossentropy(IDS, x, 0.1))
                (dx,) = BACKEND.autograd.grad(losses, x, create_graph=True)
                return ops.sum(dx**2)
            if keras.backend.backend() == "jax":
                return ops.sum(BACKEND.grad(self.total(0.1))(x) ** 2)
            with BACKEND.GradientTape() as tape:
                tape.watch(x)
                total = self.total(0.1)(x)
            return ops.sum(tape.gradient(total, x) ** 2)

        check_gradients(slope, [self.drawn(classes)])

    @pytest.mark.tensorflow
    @pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="TensorFlow"
    )
    @pytest.mark.parametrize(
        "jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)]
    )
    def test_in_graphs_of_unknown_lengths(self, jit_compile):
        x, total = self.drawn(WIDE), self.total(0.1)
        signature = [BACKEND.TensorSpec((None, None, WIDE), "float64")]

        @BACKEND.function(
            autograph=False, input_signature=signature, jit_compile=jit_compile
        )
        def found(x):
            with BACKEND.GradientTape() as tape:
                tape.watch(x)
                result = total(x)
            return x, tape.gradient(result, x)

        same, got = found(x)
        np.testing.assert_array_equal(same, x)  # what is read later stays
        np.testing.assert_allclose(got, gradients(total, [x])[0], atol=1e-12)


class TestPick:
    @pytest.mark.parametrize("shape", [(7,), (3, 7), (3, 2, 7), (0, 2, 7)])
    def test_takes_one_entry_of_each_row(self, shape):
        draw = np.random.default_rng(1)
        x = draw.normal(size=shape).astype("float32")
        ids = draw.integers(0, 7, size=shape[:-1]).astype("int32")
        got = ops.convert_to_numpy(pick(ops.convert_to_tensor(x), ids))
        want = np.take_along_axis(x, ids[..., None], -1)[..., 0]
        np.testing.assert_array_equal(got, want)


class TestWeightedSum:
    def test_what_has_no_weight_may_be_anything(self):
        weights = ops.convert_to_tensor([2.0, 0.0, 0.0, 1.0])
        values = ops.convert_to_tensor([1.0, np.inf, np.nan, 3.0])
        assert float(weighted_sum(weights, values)) == 5.0


@pytest.mark.skipif(not backend.replaces_rows, reason="of TensorFlow alone")
def test_blocks_are_for_wide_matrices_that_nothing_fuses():
    wide, narrow = (ops.zeros((2, n)) for n in (WIDE, WIDE - 1))
    assert count_blocks(wide) == BLOCKS
    assert count_blocks(narrow) == 1
    with fused(True):
        assert count_blocks(wide) == 1
        with fused(False):
            assert count_blocks(wide) == BLOCKS
