"""Losses: averages over real tokens or linked words, and over them alone."""

import keras
import numpy as np
import pytest
from gradients import check_gradients
from gradients import gradients
from keras import ops
from masked import all_padding
from tiers import some

from keras_attention import GuidedAlignmentLoss
from keras_attention import LuongGeneral
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
    @pytest.mark.slow
    @pytest.mark.parametrize("shape", some([[2, 4], None, [2]], 1))
    def test_fit_passes_weights_and_ignores_masks(self, shape):
        ids = np.array([[2, 0, 3, 0], [0, 2, 0, 1]])  # masks unlike the targets
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            each = np.broadcast_to(weights.reshape(2, -1), IDS.shape)
        got, x, *_ = trained(SequenceCrossentropy(), ids, IDS, weights)
        assert got == pytest.approx(reference(IDS, x, each), rel=1e-5)

    @pytest.mark.slow
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

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
    def test_no_real_token_no_gradient(self, dtype):
        loss, _, before, after = trained(
            SequenceCrossentropy(0.1), IDS, 0 * IDS, dtype=dtype
        )
        assert loss == 0
        for x, y in zip(before, after, strict=True):
            np.testing.assert_array_equal(x, y)

    @pytest.mark.slow
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
    @pytest.mark.parametrize("smoothing", [-0.1, 1.0, float("nan"), None, True])
    def test_refuses_smoothing_that_is_no_share(self, smoothing):
        says = "`label_smoothing` must be a non-negative number, below 1"
        with pytest.raises(ValueError, match=says):
            SequenceCrossentropy(smoothing)


LINKS = np.array(
    [
        [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
        [[0, 0, 0, 2, 6], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 9, 9, 9]],
    ],
    "float32",
)


def attention():
    drawn = np.random.default_rng(0).exponential(size=LINKS.shape)
    return (drawn / drawn.sum(-1, keepdims=True)).astype("float32")


def guided(links, weights, sample_weight=None):
    """The formula, link by link."""
    over = under = 0.0
    for b, t in np.argwhere(links.any(-1)):
        w = 1.0 if sample_weight is None else sample_weight[b, t]
        share = links[b, t] / links[b, t].sum()
        for j in np.flatnonzero(share):
            over -= w * share[j] * np.log(np.float64(weights[b, t, j]))
        under += w
    return over / under


class TestGuidedAlignment:
    @pytest.mark.parametrize("shape", [None, (2,), (2, 1), (2, 4)])
    def test_agrees_with_the_definition(self, shape):
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            each = np.broadcast_to(weights.reshape(2, -1), (2, 4))
        got = GuidedAlignmentLoss()(LINKS, attention(), weights)
        want = guided(LINKS, attention(), each)
        assert tuple(got.shape) == ()
        assert float(got) == pytest.approx(want, rel=1e-6)

    def test_links_may_be_booleans_or_whole_numbers(self):
        links = LINKS > 0
        want = guided(links, attention())
        for dtype in ("bool", "int32", "uint8"):
            got = GuidedAlignmentLoss()(links.astype(dtype), attention())
            assert float(got) == pytest.approx(want, rel=1e-6)

    def test_more_padding_changes_nothing(self):
        more = (0, 1), (0, 2), (0, 3)
        longer = np.pad(LINKS, more), np.pad(attention(), more)
        want = float(GuidedAlignmentLoss()(LINKS, attention()))
        got = float(GuidedAlignmentLoss()(*longer))
        assert got == pytest.approx(want, rel=1e-6)

    def test_words_without_a_link_may_attend_to_anything(self):
        weights = attention()
        weights[~LINKS.any(-1)] = 0.2
        want = float(GuidedAlignmentLoss()(LINKS, attention()))
        assert float(GuidedAlignmentLoss()(LINKS, weights)) == want

    def test_gradient_is_the_slope(self):
        def loss(weights):
            return GuidedAlignmentLoss()(LINKS, weights)

        check_gradients(loss, [attention().astype("float64")])

    def test_a_weight_of_0_costs_much_and_stays_finite(self):
        weights = attention()
        weights[0, 0] = [0, 0, 1, 0, 0]

        def loss(weights):
            return GuidedAlignmentLoss()(LINKS[:1, :1], weights)

        assert float(loss(weights[:1, :1])) == pytest.approx(12 * np.log(10))
        (found,) = gradients(loss, [weights[:1, :1]])
        np.testing.assert_array_equal(found, 0)

    def test_no_link_no_loss_and_no_gradient(self):
        def loss(weights):
            return GuidedAlignmentLoss()(0 * LINKS, weights)

        assert float(loss(attention())) == 0
        (found,) = gradients(loss, [attention()])
        np.testing.assert_array_equal(found, 0)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_computes_in_float32_or_wider(self, dtype):
        x = ops.cast(attention(), dtype)
        got = GuidedAlignmentLoss()(LINKS, x)
        wide = dtype if dtype == "float64" else "float32"
        assert ops.dtype(got) == wide
        exact = ops.convert_to_numpy(ops.cast(x, wide))
        assert float(got) == pytest.approx(guided(LINKS, exact), rel=1e-6)

    @pytest.mark.slow
    def test_fit_makes_attention_follow_the_links(self):
        """Every target word attends to the source word after its own."""
        keras.utils.set_random_seed(0)
        source, target = (keras.Input((4,), dtype="int32") for _ in range(2))
        memory = keras.layers.Embedding(6, 8)(source)
        query = keras.layers.Embedding(6, 8)(target)
        context, weights = LuongGeneral()(
            query, memory, return_attention_scores=True
        )
        logits = keras.layers.Dense(6)(context)
        net = keras.Model([source, target], [logits, weights])
        net.compile(
            keras.optimizers.Adam(0.1),
            loss=[SequenceCrossentropy(), GuidedAlignmentLoss()],
            loss_weights=[1.0, 0.5],
        )
        ids = np.array([[2, 3, 4, 5], [3, 4, 5, 2]], "int32")
        links = np.broadcast_to(np.eye(4, k=1), (2, 4, 4))
        data = [ids, ids], [ids, links]
        history = net.fit(*data, epochs=60, verbose=0).history
        words, aligned = (history[name] for name in history if name != "loss")
        total = np.array(words) + 0.5 * np.array(aligned)
        np.testing.assert_allclose(history["loss"], total, rtol=1e-5)
        found = net.predict(data[0], verbose=0)[1]
        np.testing.assert_array_equal(found[:, :3].argmax(-1), 2 * [[1, 2, 3]])
        assert found[links > 0].min() > 0.9


BOTH = [
    (SequenceCrossentropy(0.2, name="smooth"), IDS, logits),
    (GuidedAlignmentLoss(name="guide"), LINKS, attention),
]


@pytest.mark.parametrize(("loss", "targets", "draw"), BOTH)
class TestBoth:
    def test_keras_serializes_it(self, loss, targets, draw):
        revived = keras.losses.deserialize(keras.losses.serialize(loss))
        assert type(revived) is type(loss)
        smoothing = {}
        if targets is IDS:
            smoothing = {"label_smoothing": 0.2}
        assert revived.get_config() == {"name": loss.name, **smoothing}
        assert float(revived(targets, draw())) == float(loss(targets, draw()))

    def test_the_mask_of_the_output_is_ignored(self, loss, targets, draw):
        want = float(loss(targets, draw()))
        assert float(loss(targets, all_padding(draw()))) == want

    def test_refuses_shapes_that_do_not_fit(self, loss, targets, draw):
        says = "links and weights of one shape.*Pad the links with zeros"
        if targets is IDS:
            says = "same B and T"
        for wrong in (targets[:, 1:], targets[0]):
            with pytest.raises(ValueError, match=says):
                loss(wrong, draw())
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            loss(targets, draw(), np.ones(3))
