"""tokens: no weight for padding, and cross-entropy without one-hot."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops.tokens import pick
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
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


class TestTokenWeights:
    @pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "uint8"])
    def test_padding_has_none(self, dtype):
        got = ops.convert_to_numpy(token_weights(IDS.astype(dtype)))
        np.testing.assert_array_equal(got, [[1, 1, 0, 0], [1, 1, 1, 0]])
        assert got.dtype == "float32"

    @pytest.mark.parametrize("shape", [(2,), (2, 1)])
    def test_one_a_sentence(self, shape):
        weight = np.reshape([0.5, 3.0], shape)
        got = ops.convert_to_numpy(token_weights(IDS, weight))
        np.testing.assert_array_equal(got, [[0.5, 0.5, 0, 0], [3, 3, 3, 0]])

    def test_one_a_token(self):
        weight = np.arange(8.0).reshape(2, 4)
        got = ops.convert_to_numpy(token_weights(IDS, weight))
        np.testing.assert_array_equal(got, [[0, 1, 0, 0], [4, 5, 6, 0]])

    @pytest.mark.parametrize("shape", [(), (4,), (2, 3), (1, 4), (2, 4, 1)])
    def test_refuses_other_shapes(self, shape):
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            token_weights(IDS, np.ones(shape))


class TestTokenCrossentropy:
    @pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
    def test_agrees_with_the_definition(self, smoothing):
        got = token_crossentropy(IDS, logits(), smoothing)
        want = crossentropy(IDS, logits(), smoothing)
        np.testing.assert_allclose(ops.convert_to_numpy(got), want, rtol=1e-12)

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_agrees_with_keras(self, smoothing):
        targets = ops.one_hot(IDS, 7, dtype="float32")
        keras_loss = keras.losses.CategoricalCrossentropy(
            from_logits=True, label_smoothing=smoothing, reduction=None
        )
        want = keras_loss(targets, logits("float32"))
        got = token_crossentropy(IDS, logits("float32"), smoothing)
        np.testing.assert_allclose(
            ops.convert_to_numpy(got), ops.convert_to_numpy(want), rtol=1e-5
        )

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_is_widened_first(self, dtype):
        x = logits(dtype, scale=300.0)
        got = token_crossentropy(IDS, x, 0.1)
        assert ops.dtype(got) == "float32"
        want = crossentropy(IDS, ops.cast(x, "float32"), 0.1)
        np.testing.assert_allclose(ops.convert_to_numpy(got), want, rtol=1e-5)

    def test_float64_stays(self):
        assert ops.dtype(token_crossentropy(IDS, logits())) == "float64"

    @pytest.mark.parametrize("wrong", [7, -1, 100])
    def test_an_id_outside_is_not_a_number(self, wrong):
        ids = np.where(IDS == 5, wrong, IDS)
        got = ops.convert_to_numpy(token_crossentropy(ids, logits(), 0.1))
        np.testing.assert_array_equal(np.isnan(got), ids == wrong)

    @pytest.mark.parametrize(
        ("ids", "scores"),
        [((2, 4), (2, 3, 7)), ((2, 4), (4, 7)), ((2, 4, 7), (2, 4, 7))],
    )
    def test_refuses_shapes_that_do_not_fit(self, ids, scores):
        with pytest.raises(ValueError, match="same B and T"):
            token_crossentropy(np.ones(ids, "int32"), np.ones(scores))


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
