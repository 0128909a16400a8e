"""SequenceCrossentropy: an average over real tokens, and over them alone."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import SequenceCrossentropy

IDS = np.array([[5, 3, 0, 0], [1, 2, 3, 0]], "int32")


def logits():
    return np.random.default_rng(0).normal(size=(2, 4, 7)).astype("float32")


def reference(ids, x, weights=None, smoothing=0.0):
    """The formula, token by token."""
    x, over, under = x.astype("float64"), 0.0, 0.0
    for b, t in np.argwhere(ids != 0):
        log_p = x[b, t] - np.log(np.exp(x[b, t]).sum())
        right, all_classes = log_p[ids[b, t]], log_p.mean()
        w = 1.0 if weights is None else weights[b, t]
        over -= w * ((1 - smoothing) * right + smoothing * all_classes)
        under += w
    return over / under


def model(dtype=None):
    """A model of logits with one embedding, in which padding is masked."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(7, 4, mask_zero=True, dtype=dtype)(ids)
    return keras.Model(ids, keras.layers.Dense(7, dtype=dtype)(x))


def trained(loss, ids, targets, sample_weight=None, dtype=None, **kwargs):
    """One step; the loss, and the weights before and after."""
    keras.utils.set_random_seed(0)
    net = model(dtype)
    net.compile(keras.optimizers.SGD(1.0), loss, **kwargs)
    before = net.get_weights()
    scores = net.predict(ids, verbose=0)
    fit = net.fit(ids, targets, sample_weight=sample_weight, verbose=0)
    return fit.history["loss"][0], scores, before, net.get_weights()


class TestFormula:
    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    @pytest.mark.parametrize("shape", [None, (2,), (2, 1), (2, 4)])
    def test_agrees_with_the_definition(self, smoothing, shape):
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            columns = weights.reshape(2, -1)
            each = np.broadcast_to(columns, IDS.shape)
        got = SequenceCrossentropy(smoothing)(IDS, logits(), weights)
        want = reference(IDS, logits(), each, smoothing)
        assert tuple(got.shape) == ()
        assert float(got) == pytest.approx(want, rel=1e-6)

    def test_more_padding_changes_nothing(self):
        loss = SequenceCrossentropy(0.1)
        longer = np.pad(IDS, ((0, 3), (0, 5)))
        noise = np.full((5, 9, 7), 50.0, "float32")
        noise[:2, :4] = logits()
        short, long = loss(IDS, logits()), loss(longer, noise)
        assert float(short) == pytest.approx(float(long), rel=1e-6)

    def test_the_mask_of_the_logits_is_ignored(self):
        x = ops.convert_to_tensor(logits())
        want = float(SequenceCrossentropy()(IDS, x))
        keras.src.backend.set_keras_mask(x, ops.zeros((2, 4), "bool"))
        assert float(SequenceCrossentropy()(IDS, x)) == want

    def test_padding_the_model_forbids_costs_nothing(self):
        x = logits()
        x[..., 0] = -np.inf
        want = reference(IDS, np.where(np.isinf(x), -1e4, x))
        assert float(SequenceCrossentropy()(IDS, x)) == pytest.approx(want)

    def test_float64_stays(self):
        x = ops.convert_to_tensor(logits(), "float64")
        got = SequenceCrossentropy(0.1)(IDS, x)
        assert ops.dtype(got) == "float64"
        want = reference(IDS, logits(), smoothing=0.1)
        assert float(got) == pytest.approx(want, rel=1e-12)

    @pytest.mark.parametrize("weights", [None, np.zeros(2)])
    def test_no_real_token_no_loss(self, weights):
        ids = IDS if weights is not None else 0 * IDS
        assert float(SequenceCrossentropy()(ids, logits(), weights)) == 0


class TestTraining:
    @pytest.mark.parametrize("shape", [None, (2,), (2, 4)])
    def test_fit_passes_weights_and_ignores_masks(self, shape):
        ids = np.array([[2, 0, 3, 0], [0, 2, 0, 1]])  # masks unlike the targets
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            each = np.broadcast_to(weights.reshape(2, -1), IDS.shape)
        got, x, *_ = trained(SequenceCrossentropy(), ids, IDS, weights)
        assert got == pytest.approx(reference(IDS, x, each), rel=1e-5)

    @pytest.mark.skipif(
        keras.backend.backend() == "torch", reason="XLA: not there"
    )
    def test_compiled_is_the_same(self):
        loss = SequenceCrossentropy(0.1)
        plain, _, _, one = trained(loss, IDS, IDS, jit_compile=False)
        fast, _, _, other = trained(loss, IDS, IDS, jit_compile=True)
        assert fast == pytest.approx(plain, rel=1e-6)
        for x, y in zip(one, other, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-6)

    @pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
    def test_no_real_token_no_gradient(self, dtype):
        loss, _, before, after = trained(
            SequenceCrossentropy(0.1), IDS, 0 * IDS, dtype=dtype
        )
        assert loss == 0
        for x, y in zip(before, after, strict=True):
            np.testing.assert_array_equal(x, y)

    def test_float16_gradients_stay_finite(self):
        loss, _, before, after = trained(
            SequenceCrossentropy(0.1), IDS, IDS, dtype="mixed_float16"
        )
        assert np.isfinite(loss)
        assert all(np.isfinite(x).all() for x in after)
        assert any((x != y).any() for x, y in zip(before, after, strict=True))

    def test_gradient_is_softmax_less_target(self):
        """A bias alone: its gradient is the mean of `p - target`."""
        ids = keras.Input((4,), dtype="int32")
        x = keras.layers.Embedding(7, 1, embeddings_initializer="zeros")(ids)
        net = keras.Model(ids, keras.layers.Dense(7)(x))
        net.compile(keras.optimizers.SGD(1.0), SequenceCrossentropy(0.1))
        net.fit(IDS, IDS, verbose=0)
        target = (0.9 * np.eye(7)[IDS] + 0.1 / 7)[IDS != 0].mean(0)
        np.testing.assert_allclose(
            net.get_weights()[-1], target - 1 / 7, atol=1e-6
        )


class TestConfig:
    def test_keras_serializes_it(self):
        loss = SequenceCrossentropy(0.2, name="smooth")
        revived = keras.losses.deserialize(keras.losses.serialize(loss))
        assert isinstance(revived, SequenceCrossentropy)
        assert revived.get_config() == {
            "label_smoothing": 0.2,
            "name": "smooth",
        }

    @pytest.mark.parametrize("smoothing", [-0.1, 1.0, 5, float("nan")])
    def test_refuses_smoothing_that_is_no_share(self, smoothing):
        with pytest.raises(ValueError, match="`label_smoothing` must be"):
            SequenceCrossentropy(smoothing)

    def test_refuses_shapes_that_do_not_fit(self):
        with pytest.raises(ValueError, match="same B and T"):
            SequenceCrossentropy()(IDS[:, 1:], logits())
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            SequenceCrossentropy()(IDS, logits(), np.ones(3))
