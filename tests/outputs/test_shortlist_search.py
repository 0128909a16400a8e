"""Search among listed words: the same texts, rows alone, NumPy's numbers."""

import itertools

import keras
import numpy as np
import pytest
from generations import assert_same
from generations import to_numpy
from ready import GRAPH
from ready import dtype_policy
from samples import randomize
from seq2seqs import SOURCE
from seq2seqs import WORDS
from seq2seqs import built_model
from seq2seqs import small_model
from tiers import some

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RequiredPhrases
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import Shortlist
from keras_attention.models.generation import search_words

BACKEND = keras.backend.backend()
EVERY = Shortlist(np.zeros((WORDS, 1), int), range(WORDS))
FEW = Shortlist(
    [[0, 0], *[[x % 5 + 4, x % 3 + 5] for x in range(1, WORDS)]], []
)
PREFIX = np.array([[5, 6], [4, 0], [0, 0]])
OPTIONS = {"min_length": 3, "no_repeat_ngram_size": 2, "forbidden_ids": [1]}
SEARCHES = {
    "beams, limited": lambda: BeamSearch(
        5, 2, 0.6, 0.2, max_length=7, **OPTIONS
    ),
    "greedy, limited": lambda: GreedySearch(max_length=7, **OPTIONS),
    "greedy": lambda: GreedySearch(max_length=7),
    "beams": lambda: BeamSearch(5, n_best=3, max_length=7),
    "more beams than words": lambda: BeamSearch(20, n_best=20, max_length=4),
    "sampling": lambda: Sampling(seed=1, top_k=6, max_length=7),
}
MODELS = {
    "all tied": {"tie_embeddings": "all"},
    "lexical": {"lexical": True},
    "lexical, tied": {"lexical": True, "tie_embeddings": True},
    "tied": {"tie_embeddings": True},
    "float64": {"dtype": "float64"},
}


def make_model(tie_embeddings=False, **changes):
    """Make a model whose output layer may be tied."""
    model = small_model(layer_size=5, tie_embeddings=tie_embeddings, **changes)
    randomize(model, 3, scale=2.0)
    return model


def logits_after(model, source, texts):
    """Score what comes after the start, and after each word of some texts."""
    before = np.insert(np.asarray(texts), 0, 2, axis=1)
    found = model((np.tile(source, (len(before), 1)), before))
    return keras.ops.convert_to_numpy(found).astype("float64")


def words_of(shortlist, source, more=()):
    """List the words of a source, by Python."""
    found = {0, 1, 2, 3, *more, *shortlist.always.tolist()}
    for x in source[source != 0]:
        found |= {*shortlist.table[x].tolist()}
    return sorted(found)


# All words: as without a list.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    some(
        [
            ("beams, limited", "plain"),
            *(("beams, limited", kind) for kind in MODELS),
            *((name, "plain") for name in SEARCHES),
        ],
        4,
    ),
)
@pytest.mark.usefixtures("without_graphs")
def test_a_list_of_all_words_changes_nothing(name, kind):
    model = make_model(**MODELS.get(kind, {}))
    for prefix in (None, PREFIX):
        wanted = model.generate(SOURCE, SEARCHES[name](), prefix)
        found = model.generate(SOURCE, SEARCHES[name](), prefix, True, EVERY)
        assert_same(found, wanted)


# Few words: as NumPy finds them.


@pytest.mark.slow
@pytest.mark.parametrize("tied", some([False, True], 1))
@pytest.mark.usefixtures("without_graphs")
def test_the_softmax_is_over_the_listed_words(tied):
    """Greedy search, step by step, by the call of the whole model."""
    model = make_model(tied, dtype="float64")
    search = GreedySearch(max_length=5, forbidden_ids=[3])
    found = to_numpy(model.generate(SOURCE, search, shortlist=FEW))
    for source, tokens, score in zip(SOURCE, *found[:2], strict=True):
        allowed = words_of(FEW, source)
        assert 4 < len(allowed) < WORDS
        logits = logits_after(model, source, tokens)[0, :-1, allowed].T
        log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        can = ~np.isin(allowed, [0, 2, 3])
        best = np.argmax(np.where(can, log_probs, -np.inf), axis=1)
        np.testing.assert_array_equal(tokens[0], np.take(allowed, best))
        wanted = log_probs[np.arange(5), best].sum()
        np.testing.assert_allclose(score[0], wanted, atol=1e-4)


@pytest.mark.usefixtures("without_graphs")
def test_beams_find_the_best_of_all_texts():
    """With as many beams as texts, against every text of two words."""
    model = make_model(dtype="float64")
    search = BeamSearch(30, n_best=3, max_length=2)
    tokens, scores, *_ = to_numpy(
        model.generate(SOURCE[1:2], search, shortlist=FEW)
    )
    allowed = words_of(FEW, SOURCE[1])
    can = [x for x in allowed if x not in (0, 2)]
    texts = [
        *{(3, 0) if x == 3 else (x, y) for x, y in itertools.product(can, can)}
    ]
    logits = logits_after(model, SOURCE[1], texts)[..., allowed]
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    places = np.searchsorted(allowed, texts)
    of_words = np.take_along_axis(log_probs[:, :2], places[..., None], 2)
    wanted = (of_words[..., 0] * (np.array(texts) != 0)).sum(axis=1)
    best = np.argsort(-wanted)[:3]
    assert tokens[0].tolist() == [[*texts[i]] for i in best]
    np.testing.assert_allclose(scores[0], wanted[best], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["beams, limited", "greedy"], 1))
@pytest.mark.usefixtures("without_graphs")
def test_rows_do_not_depend_on_their_neighbours(name):
    """Nor on the padding that a longer one brings."""
    with dtype_policy("float64"):
        model = make_model()
    together = to_numpy(
        model.generate(SOURCE, SEARCHES[name](), PREFIX, shortlist=FEW)
    )
    for row, (source, prefix) in enumerate(zip(SOURCE, PREFIX, strict=True)):
        alone = model.generate(
            source[None, source != 0],
            SEARCHES[name](),
            prefix[None],
            shortlist=FEW,
        )
        tokens, scores, lengths, *_ = to_numpy(alone)
        np.testing.assert_array_equal(tokens[0], together[0][row])
        np.testing.assert_allclose(scores[0], together[1][row], atol=1e-5)
        np.testing.assert_array_equal(lengths[0], together[2][row])


# Prefixes.


@pytest.mark.usefixtures("without_graphs")
def test_words_of_a_prefix_come_and_are_listed_in_their_row_only():
    nothing = Shortlist(np.zeros((WORDS, 1), int), [])
    prefix = np.array([[8, 5], [7, 0], [0, 0]])
    search = GreedySearch(max_length=4, min_length=4)
    found = make_model().generate(SOURCE, search, prefix, shortlist=nothing)
    tokens = to_numpy(found)[0][:, 0]
    assert tokens[0, :2].tolist() == [8, 5]
    assert tokens[1, 0] == 7
    for row, words in zip(tokens, ([8, 5], [7], []), strict=True):
        assert np.isin(row, [1, 3, *words]).all()


@pytest.mark.usefixtures("without_graphs")
def test_required_words_come_and_are_listed_in_their_row_only():
    nothing = Shortlist(np.zeros((WORDS, 1), int), [])
    phrases = np.array([[[8, 5], [4, 0]], [[7, 0], [0, 0]], [[0, 0], [0, 0]]])
    search = RequiredPhrases(BeamSearch(9, 2, max_length=5), phrases)
    model = make_model(lexical=True)
    found = model.generate(SOURCE, search, shortlist=nothing)
    for row, words in zip(
        to_numpy(found)[0], ([4, 5, 8], [7], []), strict=True
    ):
        assert np.isin(row, [0, 1, 3, *words]).all()
        for text in row.tolist():
            assert {*words} <= {*text}
            assert 8 not in text or text[text.index(8) + 1] == 5
    found = model.generate(SOURCE, search, shortlist=EVERY)
    assert_same(found, model.generate(SOURCE, search))


def test_a_row_with_an_unknown_prefix_gets_no_tokens():
    """As without a shortlist, in a graph, where ids cannot be checked."""
    model = make_model()
    prefix = np.array([[WORDS], [-3], [5]])
    with pytest.warns(UserWarning, match="no hypothesis for 2 of 3"):
        found = search_words(
            model.limited_to(FEW), SOURCE, GreedySearch(4), prefix
        )
    tokens, scores, lengths, *_ = to_numpy(found)
    assert np.isneginf(scores[:, 0]).tolist() == [True, True, False]
    assert not tokens[:2].any()
    assert lengths[:, 0].tolist()[:2] == [0, 0]
    with pytest.raises(ValueError, match="needs prefix ids from 0 to"):
        model.generate(SOURCE, GreedySearch(4), prefix, shortlist=FEW)


# In programs.


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["greedy, limited", "beams"], 1))
def test_xla_finds_the_same(name):
    model = make_model()
    wanted = model.generate(SOURCE, SEARCHES[name](), PREFIX, shortlist=FEW)
    model.compile("sgd", jit_compile=BACKEND != "torch")
    found = model.generate(SOURCE, SEARCHES[name](), PREFIX, shortlist=FEW)
    found, wanted = to_numpy(found), to_numpy(wanted)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", some(["beams", "more beams than words"], 1))
def test_a_graph_of_unknown_sizes_finds_the_same(name):
    import tensorflow as tf

    model, search = make_model(), SEARCHES[name]()
    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids], autograph=False)
    def run(source, prefix):
        return model.generate(source, search, prefix, shortlist=FEW)

    for rows in (slice(3), slice(1, 2)):
        source, prefix = SOURCE[rows].astype("int32"), PREFIX[rows]
        found = run(source, prefix.astype("int32"))
        wanted = model.generate(source, search, prefix, shortlist=FEW)
        width = wanted.tokens.shape[1]
        assert_same([x[:, :width] for x in found], wanted)


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="torch compiles nothing")
def test_a_shortlist_has_programs_of_its_own(monkeypatch):
    model, traced, begin = make_model(), [], Seq2Seq.begin

    def counted(self, *asked, output=None):
        traced.append(output and output.shortlist)
        return begin(self, *asked, output=output)

    model.compile("sgd", **GRAPH)
    search = GreedySearch(max_length=3)
    other = Shortlist(FEW.table, [8])
    monkeypatch.setattr(Seq2Seq, "begin", counted)
    for shortlist in (FEW, other, FEW, other):
        model.generate(SOURCE, search, shortlist=shortlist)
    assert traced == [FEW, other]
    tokens = to_numpy(model.generate(SOURCE, search, shortlist=other))[0]
    limited = model.limited_to(other)
    assert limited is model.limited_to(other)
    wanted = to_numpy(search_words(limited, SOURCE, search))[0]
    np.testing.assert_array_equal(tokens, wanted)


# What does not fit.


class Own:
    """A search that tells no ids."""

    def __call__(self, *_):
        raise AssertionError


@pytest.mark.parametrize(
    ("changes", "search", "shortlist", "said"),
    [
        ({"copying": True}, None, FEW, "copying=True"),
        ({}, None, FEW.table, "`shortlist` must be an instance of Shortlist"),
        ({}, None, Shortlist, "the class Shortlist"),
        ({}, Own(), FEW, "`search` with a shortlist must have"),
        ({}, None, Shortlist(FEW.table[1:], []), "Received: 8 rows"),
        ({}, None, Shortlist(FEW.table, [WORDS]), "ids up to 9, with"),
        ({}, None, Shortlist(FEW.table + WORDS, []), "ids up to 17, with"),
        ({}, GreedySearch(end_id=WORDS), FEW, "`end_id` must be an id"),
    ],
)
def test_what_does_not_fit_is_named(changes, search, shortlist, said):
    model = small_model(**changes)
    with pytest.raises(ValueError, match=said):
        model.generate(SOURCE, search, shortlist=shortlist)


def test_features_have_no_list():
    with pytest.raises(ValueError, match="source_vocabulary_size=None"):
        built_model(features=3).limited_to(FEW)


def test_a_quantized_output_layer_has_no_list():
    model = make_model()
    model.output_layer.quantize("int8")
    with pytest.raises(ValueError, match="output layer quantized to int8"):
        model.generate(SOURCE, shortlist=FEW)
