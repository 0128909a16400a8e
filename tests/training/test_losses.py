"""Losses: averages over real tokens or linked words, and over them alone."""

from functools import partial

import keras
import numpy as np
import pytest
from gradients import check_gradients
from gradients import derivative
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops
from masked import all_padding
from ready import GRAPH
from seq2seqs import SOURCE
from seq2seqs import make_model
from seq2seqs import small_model
from tiers import some

import keras_attention as ka

IDS = np.array([[5, 3, 0, 0], [1, 2, 3, 0]], "int32")
ALPHAS = {1.5: "entmax15", 2: "sparsemax"}
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)


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


def entmax(z, alpha):
    """Bisection for the threshold: `p` sums to 1."""
    z = (alpha - 1) * z.astype("float64")
    low, high = z.max() - 1, z.max()
    for _ in range(200):
        threshold = (low + high) / 2
        p = np.maximum(z - threshold, 0) ** (1 / (alpha - 1))
        low, high = (threshold, high) if p.sum() > 1 else (low, threshold)
    return p


def by_entmax(ids, z, weights=None, alpha=1.5):
    """The loss of sparse probabilities, token by token."""
    over = under = 0.0
    for b, t in np.argwhere(ids != 0):
        p, w = entmax(z[b, t], alpha), 1.0 if weights is None else weights[b, t]
        entropy = (p - p**alpha).sum() / (alpha * (alpha - 1))
        over += w * (p @ z[b, t] - z[b, t, ids[b, t]] + entropy)
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
    net.compile(keras.optimizers.SGD(1.0), loss, **{**GRAPH, **kwargs})
    before = net.get_weights()
    scores = net.predict(ids, verbose=0)
    fit = net.fit(ids, targets, sample_weight=sample_weight, verbose=0)
    return fit.history["loss"][0], scores, before, net.get_weights()


class TestTraining:
    @pytest.mark.slow
    @pytest.mark.parametrize("shape", some([[2, 4], None, [2]], 1))
    def test_fit_passes_weights_and_ignores_masks(self, shape):
        ids = np.array([[2, 0, 3, 0], [0, 2, 0, 1]])  # masks unlike the targets
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            each = np.broadcast_to(weights.reshape(2, -1), IDS.shape)
        got, x, *_ = trained(ka.SequenceCrossentropy(), ids, IDS, weights)
        assert got == pytest.approx(reference(IDS, x, each), rel=1e-5)


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
    def test_words_without_a_link_may_attend_to_anything(self):
        weights = attention()
        weights[~LINKS.any(-1)] = 0.2
        want = float(ka.GuidedAlignmentLoss()(LINKS, attention()))
        assert float(ka.GuidedAlignmentLoss()(LINKS, weights)) == want

    def test_gradient_is_the_slope(self):
        def loss(weights):
            return ka.GuidedAlignmentLoss()(LINKS, weights)

        check_gradients(loss, [attention().astype("float64")])

    def test_a_weight_of_0_costs_much_and_stays_finite(self):
        weights = attention()
        weights[0, 0] = [0, 0, 1, 0, 0]

        def loss(weights):
            return ka.GuidedAlignmentLoss()(LINKS[:1, :1], weights)

        assert float(loss(weights[:1, :1])) == pytest.approx(12 * np.log(10))
        (found,) = gradients(loss, [weights[:1, :1]])
        np.testing.assert_array_equal(found, 0)


EACH = {
    "crossentropy": (ka.SequenceCrossentropy(name="x"), IDS, logits, reference),
    "smoothed": (
        ka.SequenceCrossentropy(0.1),
        IDS,
        logits,
        partial(reference, smoothing=0.1),
    ),
    "entmax15": (ka.EntmaxLoss(), IDS, logits, partial(by_entmax, alpha=1.5)),
    "sparsemax": (ka.EntmaxLoss(2), IDS, logits, partial(by_entmax, alpha=2)),
    "guided": (ka.GuidedAlignmentLoss(name="x"), LINKS, attention, guided),
}


@pytest.mark.parametrize(
    ("loss", "targets", "draw", "formula"), EACH.values(), ids=EACH
)
class TestEach:
    @pytest.mark.parametrize("shape", [None, (2,), (2, 1), (2, 4)])
    def test_agrees_with_the_definition(
        self, loss, targets, draw, formula, shape
    ):
        weights = each = None
        if shape:
            weights = np.random.default_rng(1).uniform(size=shape)
            each = np.broadcast_to(weights.reshape(2, -1), (2, 4))
        got = loss(targets, draw(), weights)
        assert tuple(got.shape) == ()
        want = formula(targets, draw(), each)
        assert float(got) == pytest.approx(want, rel=1e-5)

    def test_more_padding_changes_nothing(self, loss, targets, draw, formula):
        more = [(0, 3), (0, 5), *[(0, 2)] * (targets.ndim - 2)]
        longer = np.pad(targets, more)
        rest = [(0, 0)] if targets is IDS else []
        noise = np.pad(draw(), more + rest, constant_values=50.0)
        want = pytest.approx(float(loss(targets, draw())), rel=1e-6)
        assert float(loss(longer, noise)) == want

    @pytest.mark.parametrize("weights", [None, np.zeros(2)])
    def test_nothing_real_costs_and_trains_nothing(
        self, loss, targets, draw, formula, weights
    ):
        targets = 0 * targets if weights is None else targets

        def number(x):
            return loss(targets, x, weights)

        assert float(number(draw())) == 0
        np.testing.assert_array_equal(gradients(number, [draw()])[0], 0)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_computes_in_float32_or_wider(
        self, loss, targets, draw, formula, dtype
    ):
        x = ops.cast(draw(), dtype)
        wide = dtype if dtype == "float64" else "float32"
        assert ops.dtype(loss(targets, x)) == wide
        exact = ops.convert_to_numpy(ops.cast(x, wide))
        want = pytest.approx(formula(targets, exact), rel=1e-5)
        assert float(loss(targets, x)) == want

    def test_keras_serializes_it(self, loss, targets, draw, formula):
        revived = keras.losses.deserialize(keras.losses.serialize(loss))
        assert type(revived) is type(loss)
        assert revived.get_config() == loss.get_config()
        assert float(revived(targets, draw())) == float(loss(targets, draw()))

    def test_the_mask_of_the_output_is_ignored(
        self, loss, targets, draw, formula
    ):
        want = float(loss(targets, draw()))
        assert float(loss(targets, all_padding(draw()))) == want

    def test_refuses_shapes_that_do_not_fit(self, loss, targets, draw, formula):
        says = "links and weights of the same shape.*Pad the links with zeros"
        says = r"y_true.shape=.*not one-hot" if targets is IDS else says
        for wrong in (targets[:, 1:], targets[0]):
            with pytest.raises(ValueError, match=says):
                loss(wrong, draw())
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            loss(targets, draw(), np.ones(3))


def test_padding_the_model_forbids_costs_nothing():
    x = logits()
    x[..., 0] = -np.inf
    want = reference(IDS, np.where(np.isinf(x), -1e4, x))
    assert float(ka.SequenceCrossentropy()(IDS, x)) == pytest.approx(want)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, None])
def test_refuses_smoothing_that_is_no_share(smoothing):
    says = "`label_smoothing` must be a non-negative number, below 1"
    with pytest.raises(ValueError, match=says):
        ka.SequenceCrossentropy(smoothing)


# Of sparse probabilities.


@every_alpha
def test_the_gradient_of_entmax_is_p_less_the_target(alpha):
    z, loss = 2 * logits().astype("float64"), ka.EntmaxLoss(alpha)
    (found,) = gradients(lambda z: loss(IDS, z), [z])
    count = (IDS != 0).sum()
    for b, t in np.ndindex(IDS.shape):
        right = np.eye(7)[IDS[b, t]]
        wanted = (entmax(z[b, t], alpha) - right) / count
        wanted = wanted if IDS[b, t] else 0 * wanted
        np.testing.assert_allclose(found[b, t], wanted, atol=1e-6)
    check_gradients(lambda z: loss(IDS, z), [z])


@every_alpha
def test_the_second_derivative_is_that_of_entmax(alpha):
    """By differences of the gradient."""
    z, direction = 2 * logits()[0, 0].astype("float64"), np.arange(7.0)
    loss = ka.EntmaxLoss(alpha)

    def first(z):
        return loss(IDS[:1, :1], z[None, None])

    def slope(z):
        return ops.sum(derivative(first, z) * to_tensor(direction))

    found = to_numpy(derivative(slope, to_tensor(z)))
    step = 1e-5 * direction
    wanted = (entmax(z + step, alpha) - entmax(z - step, alpha)) / 2e-5
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@every_alpha
def test_what_is_certain_costs_and_trains_nothing(alpha):
    z = np.zeros((1, 1, 7), "float32")
    z[..., 3] = 1 / (alpha - 1)
    loss = ka.EntmaxLoss(alpha)
    ids = np.array([[3]])
    assert float(loss(ids, z)) == 0
    (found,) = gradients(lambda z: loss(ids, z), [z])
    np.testing.assert_array_equal(found, 0 * z)
    assert float(loss(ids, 0.9 * z)) > 0


@every_alpha
def test_odd_scores(alpha):
    loss, z = ka.EntmaxLoss(alpha), 2 * logits()
    plain = float(loss(IDS, z))
    assert float(loss(IDS, z + 1000.0)) == pytest.approx(plain, abs=1e-3)
    z[..., 0] = -np.inf
    low = np.where(np.isinf(z), -1e4, z)
    wanted = pytest.approx(by_entmax(IDS, low, alpha=alpha), rel=1e-5)
    assert float(loss(IDS, z)) == wanted
    for wrong in (7, -1):
        assert np.isnan(float(loss(np.where(IDS == 5, wrong, IDS), z)))


def test_wrong_arguments_are_refused():
    for alpha in (1, 1.7, "entmax15", None):
        with pytest.raises(ValueError, match=r"`alpha` must be one of"):
            ka.EntmaxLoss(alpha)
    with pytest.raises(ValueError, match=r"`output` must be one of.*sparsem"):
        make_model(output="softmax")
    with pytest.raises(ValueError, match="copying mixes two softmaxes"):
        make_model(output="entmax15", copying=True)


def test_a_model_of_other_probabilities_is_refused():
    language = ka.LanguageModel(9, 4, keras.layers.GRUCell(4))
    for model in (make_model(), language, make_model(output="sparsemax")):
        with pytest.raises(ValueError, match=r"entmax15.*output='entmax15'"):
            model.compile("sgd", ka.EntmaxLoss())
    make_model(output="entmax15").compile("sgd", ka.EntmaxLoss())
    make_model(output="sparsemax").compile("sgd", ka.EntmaxLoss(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "options"),
    [
        (1.5, {}),
        (2, {"lexical": True}),
        (2, {"tie_embeddings": True, "layer_size": 5}),
    ],
    ids=["dense", "lexical", "tied"],
)
@pytest.mark.usefixtures("without_graphs")
@pytest.mark.filterwarnings("ignore:.* found no hypothesis")
def test_a_search_means_these_probabilities(alpha, options):
    model = small_model(output=ALPHAS[alpha], **options)
    found = model.generate(SOURCE, ka.GreedySearch(max_length=4))
    tokens = np.asarray(ops.convert_to_numpy(found.tokens))[:, 0]
    fed = np.pad(tokens, ((0, 0), (1, 0)), constant_values=2)[:, :-1]
    z = ops.convert_to_numpy(model((SOURCE, fed)))
    for b, row in enumerate(tokens):
        p = [entmax(z[b, t], alpha)[y] for t, y in enumerate(row) if y]
        score = float(ops.convert_to_numpy(found.scores)[b, 0])
        if not row.any():  # all of it is at ids that are never generated
            assert np.isneginf(score)
            continue
        assert score == pytest.approx(np.log(p).sum(), abs=1e-4)
    if "lexical" not in options:
        whole = ka.Shortlist(np.tile(np.arange(9), (9, 1)), [4])
        listed = model.generate(
            SOURCE, ka.GreedySearch(max_length=4), shortlist=whole
        )
        for one, other in zip(listed[:2], found[:2], strict=True):
            one, other = map(ops.convert_to_numpy, (one, other))
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.isfinite(ops.convert_to_numpy(found.scores)).any()
    again = type(model).from_config(model.get_config())
    assert again.readout.probabilities == ALPHAS[alpha]
