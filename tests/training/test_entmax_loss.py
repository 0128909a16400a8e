"""EntmaxLoss: the paper's formula, and a model that means it."""

import keras
import numpy as np
import pytest
from gradients import check_gradients
from gradients import gradients
from keras import ops
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import make_model
from seq2seqs import small_model

from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import EntmaxLoss
from keras_attention import GreedySearch
from keras_attention import SequenceCrossentropy
from keras_attention import Shortlist

IDS = np.array([[5, 3, 0, 0], [1, 2, 3, 0]], "int32")
ALPHAS = {1.5: "entmax15", 2: "sparsemax"}
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)


def scores(scale=2.0):
    draw = np.random.default_rng(0).normal
    return (scale * draw(size=(2, 4, 7))).astype("float32")


def entmax(z, alpha):
    """Bisection for the threshold: `p` sums to 1."""
    z = (alpha - 1) * z.astype("float64")
    low, high = z.max() - 1, z.max()
    for _ in range(200):
        threshold = (low + high) / 2
        p = np.maximum(z - threshold, 0) ** (1 / (alpha - 1))
        low, high = (threshold, high) if p.sum() > 1 else (low, threshold)
    return p


def token_loss(z, y, alpha):
    p = entmax(z, alpha)
    entropy = (p - p**alpha).sum() / (alpha * (alpha - 1))
    return p @ z - z[y] + entropy


def reference(ids, z, alpha, weights=None):
    weights = np.ones(ids.shape) if weights is None else weights
    real = np.argwhere(ids != 0)
    each = [
        weights[b, t] * token_loss(z[b, t], ids[b, t], alpha) for b, t in real
    ]
    return sum(each) / sum(weights[b, t] for b, t in real)


@every_alpha
@pytest.mark.parametrize("shape", [None, (2,), (2, 1), (2, 4)])
def test_agrees_with_the_definition(alpha, shape):
    weights = each = None
    if shape:
        weights = np.random.default_rng(1).uniform(size=shape)
        each = np.broadcast_to(weights.reshape(2, -1), IDS.shape)
    got = EntmaxLoss(alpha)(IDS, scores(), weights)
    want = reference(IDS, scores(), alpha, each)
    assert float(got) == pytest.approx(want, rel=1e-5)


@every_alpha
def test_no_other_probabilities_have_a_higher_bound(alpha):
    """`l + z[y]` is the maximum of `p z + H(p)`, reached by entmax alone."""
    draw, z = np.random.default_rng(2), scores()[0, 0].astype("float64")
    got = float(EntmaxLoss(alpha).call(IDS[:1, :1], z[None, None])[0, 0])
    for p in draw.dirichlet(np.full(7, 0.3), 500):
        entropy = (p - p**alpha).sum() / (alpha * (alpha - 1))
        assert p @ z + entropy <= got + z[5] + 1e-9


@every_alpha
def test_the_gradient_is_p_less_the_target(alpha):
    z, loss = scores().astype("float64"), EntmaxLoss(alpha)
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
    z, direction = scores()[0, 0].astype("float64"), np.arange(7.0)
    loss = EntmaxLoss(alpha)

    def first(z):
        return loss(IDS[:1, :1], z[None, None])

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        x = tf.Variable(z)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = first(x)
            slope = tf.reduce_sum(inner.gradient(y, x) * direction)
        found = outer.gradient(slope, x).numpy()
    elif keras.backend.backend() == "torch":
        import torch

        x = torch.tensor(z, requires_grad=True)
        (slope,) = torch.autograd.grad(first(x), x, create_graph=True)
        slope = (slope * torch.tensor(direction)).sum()
        found = torch.autograd.grad(slope, x)[0].numpy()
    else:
        import jax

        with jax.enable_x64(True):
            slope = jax.grad(lambda z: jax.grad(first)(z) @ direction)
            found = np.asarray(slope(jax.numpy.asarray(z)))
    step = 1e-5 * direction
    wanted = (entmax(z + step, alpha) - entmax(z - step, alpha)) / 2e-5
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@every_alpha
def test_what_is_certain_costs_and_trains_nothing(alpha):
    z = np.zeros((1, 1, 7), "float32")
    z[..., 3] = 1 / (alpha - 1)
    loss = EntmaxLoss(alpha)
    ids = np.array([[3]])
    assert float(loss(ids, z)) == 0
    (found,) = gradients(lambda z: loss(ids, z), [z])
    np.testing.assert_array_equal(found, 0 * z)
    assert float(loss(ids, 0.9 * z)) > 0


@every_alpha
def test_padding_and_odd_scores_do_not_matter(alpha):
    loss, z = EntmaxLoss(alpha), scores()
    plain = float(loss(IDS, z))
    longer = np.pad(IDS, ((0, 3), (0, 5)))
    noise = np.full((5, 9, 7), np.nan, "float32")
    noise[:2, :4] = z
    assert float(loss(longer, noise)) == pytest.approx(plain)
    assert float(loss(IDS, z + 1000.0)) == pytest.approx(plain, abs=1e-3)
    assert float(loss(0 * IDS, z)) == 0
    z[..., 0] = -np.inf
    low = np.where(np.isinf(z), -1e4, z)
    wanted = pytest.approx(reference(IDS, low, alpha), rel=1e-5)
    assert float(loss(IDS, z)) == wanted
    half = loss(IDS, ops.cast(z, "float16"))
    assert float(half) == pytest.approx(float(loss(IDS, z)), abs=0.01)
    for wrong in (7, -1):
        assert np.isnan(float(loss(np.where(IDS == 5, wrong, IDS), z)))


def test_wrong_arguments_are_refused():
    for alpha in (1, 1.7, "entmax15", None):
        with pytest.raises(ValueError, match=r"`alpha` must be one of"):
            EntmaxLoss(alpha)
    with pytest.raises(ValueError, match=r"y_true\.shape"):
        EntmaxLoss()(IDS[:, :3], scores())
    with pytest.raises(ValueError, match=r"`output` must be one of.*sparsem"):
        make_model(output="softmax")
    with pytest.raises(ValueError, match="`copying` mixes two softmaxes"):
        make_model(output="entmax15", copying=True)
    config = EntmaxLoss(2, name="x").get_config()
    assert EntmaxLoss.from_config(config).get_config() == config


@pytest.mark.slow
@every_alpha
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lexical": True},
        {"tie_embeddings": True, "layer_size": 5},
    ],
    ids=["dense", "lexical", "tied"],
)
def test_a_search_means_these_probabilities(alpha, options):
    model = small_model(output=ALPHAS[alpha], **options)
    found = model.generate(SOURCE, GreedySearch(max_length=4))
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
        whole = Shortlist(np.tile(np.arange(9), (9, 1)), [4])
        listed = model.generate(
            SOURCE, GreedySearch(max_length=4), shortlist=whole
        )
        for one, other in zip(listed[:2], found[:2], strict=True):
            one, other = map(ops.convert_to_numpy, (one, other))
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.isfinite(ops.convert_to_numpy(found.scores)).any()
    again = type(model).from_config(model.get_config())
    assert again.readout.probabilities == ALPHAS[alpha]


@pytest.mark.slow
@every_alpha
def test_an_ensemble_means_them_too(alpha):
    models = [small_model(seed=i, output=ALPHAS[alpha]) for i in (3, 4)]
    z = [ops.convert_to_numpy(x((SOURCE, TARGET))) for x in models]
    found = ops.convert_to_numpy(Ensemble(models)((SOURCE, TARGET)))
    for b, t in np.ndindex(TARGET.shape):
        mean = sum(entmax(x[b, t], alpha) for x in z) / 2
        np.testing.assert_allclose(np.exp(found[b, t]), mean, atol=1e-5)
    search = BeamSearch(3, max_length=4)
    scores = Ensemble(models).generate(SOURCE, search).scores
    assert not np.isnan(ops.convert_to_numpy(scores)).any()


@pytest.mark.slow
def test_beams_leave_out_what_is_impossible():
    """Trained until certain: one text has all of the probability."""
    model = make_model(output="entmax15")
    source, target = SOURCE[:1], TARGET[:1]
    model.compile(keras.optimizers.Adam(0.05), EntmaxLoss())
    data = (source, target), np.array([[5, 6, 7, 3]])
    history = model.fit(*data, epochs=60, verbose=0)
    assert history.history["loss"][-1] == 0
    found = model.generate(source, BeamSearch(3, n_best=3, max_length=6))
    logs = ops.convert_to_numpy(found.scores)[0]
    assert logs[0] == pytest.approx(0, abs=1e-5)
    assert np.isneginf(logs[1:]).all()
    assert ops.convert_to_numpy(found.tokens)[0, 0].tolist() == [
        5,
        6,
        7,
        3,
        0,
        0,
    ]


def test_softmax_stays_what_it_was():
    assert make_model().get_config()["output"] is None
    assert make_model(output="sparsemax").get_config()["output"] == "sparsemax"
    other = float(SequenceCrossentropy()(IDS, scores()))
    assert other != pytest.approx(float(EntmaxLoss()(IDS, scores())), rel=0.01)
