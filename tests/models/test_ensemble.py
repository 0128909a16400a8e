"""Ensemble: the mean of its members, in NumPy over every text."""

import contextlib
import json

import keras
import numpy as np
import pytest
from every_text import before
from every_text import check_best
from every_text import every_text
from every_text import word_probabilities
from keras import layers
from keras import ops
from ready import GRAPH
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import Halving
from seq2seqs import small_model
from tables import arrays

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BeamSearch
from keras_attention import CoverageAttention
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import HardAttention
from keras_attention import LuongGeneral
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import Shortlist
from keras_attention import StateBridge

pytestmark = pytest.mark.usefixtures("without_graphs")

LONGEST = 3
OWN = SOURCE.copy()  # with words of no vocabulary, spelled by their places
OWN[0, 2] = OWN[0, 3] = WORDS + 2
OWN[2, 1] = WORDS + 1


def luong(seed):
    """A model of other sizes, attention, order and output."""
    cell = AttentionDecoderCell(
        [layers.LSTMCell(6), layers.LSTMCell(6)],
        [LuongGeneral(), CoverageAttention(3)],
        order="luong",
        attention_layer_size=7,
    )
    return small_model(
        seed=seed,
        decoder=AttentionDecoder(cell),
        encoder=RecurrentEncoder(3, depth=2),
        bridge=StateBridge(units=6),
        embedding_dim=4,
        lexical=True,
    )


def members(kind):
    if kind == "alike":
        return [small_model(seed=3), small_model(seed=4)]
    if kind == "others":
        return [small_model(seed=3), luong(5), small_model(None, seed=6)]
    if kind == "all":
        return [small_model(seed=3, lexical=True), luong(5), hard(6)]
    if kind == "sparse":
        return [
            small_model(seed=3, output="entmax15"),
            small_model(seed=4, output="sparsemax"),
        ]
    return [small_model(seed=3), small_model(seed=5, copying=True)]


def hard(seed):
    """A model whose output has states of its own."""
    output = HardAttention(LuongGeneral(), 4, order=1, monotonic=True)
    return small_model(None, seed=seed, output=output)


@pytest.mark.slow
@pytest.mark.parametrize("mean", ["probabilities", "log_probabilities"])
@pytest.mark.parametrize("kind", ["all", "sparse"])
def test_the_best_texts_are_those_of_the_mean(mean, kind):
    """Of 1.5-entmax and sparsemax, some words are impossible."""
    models, weights = members(kind), [2, 1, 2]
    weights = weights[: len(models)]
    model = Ensemble(models, weights, mean)
    texts = every_text(WORDS, LONGEST)
    search = BeamSearch(len(texts), n_best=20, max_length=LONGEST)
    told = contextlib.nullcontext()
    if (mean, kind) == ("log_probabilities", "sparse"):  # no word is left
        told = pytest.warns(UserWarning, match="found no hypothesis for 2 of 3")
    with told:
        found = arrays(model.generate(SOURCE, search))
    assert np.isneginf(found.scores).any() == (kind == "sparse")
    shares = np.array(weights) / np.sum(weights)
    target = np.pad(texts, ((0, 0), (1, 0)), constant_values=2)
    for row, source in enumerate(SOURCE):
        sources = np.repeat(source[None], len(texts), axis=0)
        every = [all_words(x, sources, texts) for x in models]
        if mean == "probabilities":
            said = np.einsum("m,mntv->ntv", shares, every)
        else:
            said = np.prod(
                [x**w for x, w in zip(every, shares, strict=True)], axis=0
            )
            said = said / np.maximum(said.sum(axis=-1, keepdims=True), 1e-300)
        taken = np.take_along_axis(said, texts[..., None], -1)[..., 0]
        with np.errstate(divide="ignore"):
            scores = np.log(np.where(texts == 0, 1, taken)).sum(axis=1)
        if kind == "all":
            check_best(found, row, texts, scores)
        best = np.sort(scores)[::-1][: found.scores.shape[1]]
        np.testing.assert_allclose(found.scores[row], best, rtol=1e-4)
        again = to_numpy(model.score(sources, target)[0])
        np.testing.assert_allclose(again, scores, rtol=1e-4)


def all_words(model, sources, texts):
    scores = model((sources, before(texts)))
    log_probs = to_numpy(model.log_probabilities(scores))
    return np.exp(log_probs.astype("float64"))


def test_words_that_one_member_copies_are_unknown_to_the_others():
    models = members("copying")
    model = Ensemble(models)
    assert model.source_ids
    texts = np.array([[WORDS + 2, 4, 3], [5, WORDS + 2, 3], [3, 0, 0]])
    target = np.pad(texts, ((0, 0), (1, 0)), constant_values=2)
    source = OWN[[0, 0, 0]]
    plain, copying = models
    known = np.where(source < WORDS, source, 1)
    first = word_probabilities(plain, known[0], np.where(texts < 9, texts, 1))
    first = np.where(texts < WORDS, first, 0.0)
    # The inputs of the first are unknown words, too.
    second = word_probabilities(copying, source[0], texts)
    wanted = np.log(np.where(texts == 0, 1, (first + second) / 2))
    _, token_scores = model.score(source, target)
    assert_close(token_scores, wanted, 1e-4)
    found = model.generate(source, BeamSearch(4, max_length=4))
    again = np.pad(
        to_numpy(found.tokens)[:, 0], ((0, 0), (1, 0)), constant_values=2
    )
    assert_close(model.score(source, again)[0], found.scores[:, 0], 1e-4)


def test_what_is_impossible_for_all_stays_so_and_what_is_not_does_not():
    model = Ensemble(members("alike"), [1, 3])
    low = ops.convert_to_tensor([[-np.inf, -np.inf, -500.0, -np.inf, -1.0]])
    other = ops.convert_to_tensor([[-np.inf, -2.0, -501.0, -600.0, -1.0]])
    got = to_numpy(model.combine([low, other]))[0]
    ln4 = np.log(4)
    want = [
        -np.inf,
        -2 + np.log(3) - ln4,
        -500 - ln4 + np.log(1 + 3 * np.exp(-1)),
        -600 + np.log(3) - ln4,
        -1,
    ]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_attention_is_the_mean_where_sizes_agree():
    models = members("others")
    model = Ensemble(models, [3, 1, 4])  # the last one does not attend
    found = model.generate(SOURCE, GreedySearch(max_length=4))
    target = before(to_numpy(found.tokens)[:, 0])
    first, second = (
        [to_numpy(w) for w in m.attend(SOURCE, target)] for m in models[:2]
    )
    wanted = (3 * first[0] + (second[0] + second[1]) / 2) / 4
    wrote = to_numpy(found.tokens)[:, 0] != 0
    np.testing.assert_allclose(
        to_numpy(found.weights)[:, 0][wrote], wanted[wrote], atol=1e-5
    )
    [again] = model.attend(SOURCE, target)
    np.testing.assert_allclose(to_numpy(again)[wrote], wanted[wrote], atol=1e-5)
    assert Ensemble(models[2:]).attend(SOURCE, target) == []


@pytest.mark.slow
@pytest.mark.graphs
def test_of_other_sizes_the_attention_is_that_of_the_first():
    """Also in a graph, where no size is known."""
    half = small_model(encoder=Halving(4), bridge=None, seed=4)
    models = [small_model(seed=3), half]
    for order in (models, models[::-1]):
        model = Ensemble(order, [1, 2])
        found = model.generate(SOURCE, GreedySearch(max_length=4))
        target = before(to_numpy(found.tokens)[:, 0])
        wrote = to_numpy(found.tokens)[:, 0] != 0
        [wanted] = order[0].attend(SOURCE, target)
        np.testing.assert_allclose(
            to_numpy(found.weights)[:, 0][wrote],
            to_numpy(wanted)[wrote],
            atol=1e-5,
        )


@pytest.mark.slow
def test_a_shortlist_limits_all_members():
    models = members("alike")
    shortlist = Shortlist(np.arange(WORDS)[:, None] % 4 + 5, [8])
    model = Ensemble(models, [1, 2])
    search = BeamSearch(5, max_length=4)
    found = arrays(model.generate(SOURCE, search, shortlist=shortlist))
    target = np.pad(found.tokens[:, 0], ((0, 0), (1, 0)), constant_values=2)
    limited = [x.limited_to(shortlist).score(SOURCE, target) for x in models]
    each = [np.exp(to_numpy(x[1])) for x in limited]
    wanted = np.log((each[0] + 2 * each[1]) / 3) * (target[:, 1:] != 0)
    np.testing.assert_allclose(found.token_scores[:, 0], wanted, atol=1e-4)


@pytest.mark.slow
def test_weights_of_numpy_are_numbers_in_a_config():
    made = Ensemble(members("alike"), np.array([1, 2]))
    config = json.loads(json.dumps(made.get_config()))
    assert config["weights"] == [1, 2]
    assert Ensemble.from_config(config).shares == made.shares == [1 / 3, 2 / 3]


def test_saved_members_come_back(tmp_path):
    models = members("others")
    for model in models:
        model.compile("adam", loss=SequenceCrossentropy(), **GRAPH)
    model = Ensemble(models, [3, 1, 0.5], "log_probabilities", name="three")
    model.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert (again.name, again.member_weights) == ("three", [3, 1, 0.5])
    assert again.mean == "log_probabilities"
    assert again.built
    assert not any(x.compiled for x in again.models)
    for x, y in zip(
        again.score(SOURCE, TARGET), model.score(SOURCE, TARGET), strict=True
    ):
        np.testing.assert_array_equal(to_numpy(x), to_numpy(y))


@pytest.mark.slow
def test_a_model_may_be_a_member_twice(tmp_path):
    one, other = members("alike")
    model = Ensemble([one, Ensemble([other, one], [1, 2]), one])
    model.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert again.models[0] is again.models[2]
    assert_close(
        again.score(SOURCE, TARGET)[1], model.score(SOURCE, TARGET)[1], 1e-6
    )


def test_members_may_have_other_dtypes():
    models = [small_model(dtype="float64"), small_model(seed=4)]
    inputs = SOURCE, TARGET
    for mean in ("probabilities", "log_probabilities"):
        found = to_numpy(Ensemble(models, mean=mean)(inputs))
        assert found.dtype == "float64"
        np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1, atol=1e-6)
    with pytest.raises(ValueError, match="members with the same options"):
        Ensemble(models).average()


@pytest.mark.slow
def test_it_goes_on_by_what_has_changed_in_a_member():
    models = members("alike")
    model = Ensemble(models)
    before = model.version
    assert model.version == before
    models[1].changes += 1
    assert model.version > before
    unbuilt = type(models[0]).from_config(models[0].get_config())
    whole = Ensemble([unbuilt, models[1]])
    with pytest.raises(ValueError, match="once the Ensemble is built"):
        whole.generate(SOURCE)
    whole.build((SOURCE.shape, TARGET.shape))
    search = GreedySearch(max_length=2)
    assert whole.generate(SOURCE, search).tokens.shape == (3, 1, 2)


@pytest.mark.slow
def test_weights_of_checkpoints_are_averaged():
    models = members("alike")
    mean = Ensemble(models, [1, 3]).average()
    for got, one, other in zip(
        *(x.weights for x in (mean, *models)), strict=True
    ):
        wanted = (to_numpy(one) + 3 * to_numpy(other)) / 4
        np.testing.assert_allclose(to_numpy(got), wanted, atol=1e-6)
    search = GreedySearch(max_length=2)
    assert mean.generate(SOURCE, search).scores.shape == (3, 1)
    with pytest.raises(ValueError, match="members with the same options"):
        Ensemble(members("others")).average()
    other = small_model(seed=3, dropout=0.1)
    with pytest.raises(ValueError, match=r"models\[1\], .* from models\[0\]"):
        Ensemble([other, models[0]]).average()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": []}, "Ensemble needs models, and one entry of `weights`"),
        ({"models": None}, "`models` must be a list of models"),
        ({"weights": 2}, "`weights` must be a list of numbers"),
        (
            {"weights": [1.0]},
            "Ensemble needs models, and one entry of `weights`",
        ),
        ({"weights": [1.0, 0.0]}, "`weights` must be a positive number"),
        ({"weights": [1e308, 1e308]}, r"`sum\(weights\)` must be a finite"),
        ({"mean": "median"}, "`mean` must be one of"),
        ({"models": [None]}, r"`models\[0\]` must be an instance of Abstract"),
        ({"models": [None]}, "or the `model` of a Translator"),
    ],
)
def test_what_cannot_be_averaged_is_refused(arguments, message):
    given = {"models": members("alike"), **arguments}
    with pytest.raises(ValueError, match=message):
        Ensemble(**given)


def test_streams_are_refused():
    with pytest.raises(ValueError, match="Ensemble of 2 models, which each"):
        Ensemble(members("alike")).stream()


def test_members_that_do_not_fit_are_refused():
    table = np.full((WORDS, 1), 5)
    one, other = Shortlist(table, [6]), Shortlist(table, [7])
    limited = [x.limited_to(one) for x in members("alike")]
    assert Ensemble(limited).shortlist is one
    with pytest.raises(
        ValueError, match="without a shortlist, or with the same"
    ):
        Ensemble([limited[0], small_model().limited_to(other)])
    larger = small_model(target_vocabulary_size=WORDS + 1)
    with pytest.raises(ValueError, match="models with one target vocabulary"):
        Ensemble([small_model(), larger])
