"""A model step by step: word by word, it says what the whole model says."""

import numpy as np
import pytest
from keras import ops
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model

from keras_attention import AbstractAttention
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import LuongGeneral
from keras_attention import Sampling
from keras_attention import Shortlist
from keras_attention.models.generation import word_step
from keras_attention.ops import dot_scores
from keras_attention.ops import hoist

pytestmark = pytest.mark.usefixtures("without_graphs")

OWN = SOURCE.copy()  # with words of no vocabulary, spelled by their places
OWN[0, 2] = OWN[0, 3] = WORDS + 2
OWN[2, 1] = WORDS + 1
COPIED = np.where(TARGET == 6, WORDS + 2, TARGET)


MODELS = {
    "one attention": {},
    "two": {"attention": lambda: [BahdanauAttention(5), LuongGeneral()]},
    "none": {"attention": lambda: None},
    "copying": {"copying": True},
    "lexical": {"lexical": True},
    "copying, lexical": {"copying": True, "lexical": True},
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A model, a source and a target."""
    options = MODELS[request.param]
    options = {k: v() if callable(v) else v for k, v in options.items()}
    data = (OWN, COPIED) if "copying" in options else (SOURCE, TARGET)
    return small_model(**options), *data


@pytest.mark.slow
def test_given_texts_are_scored_as_by_the_whole_model(case):
    model, source, target = case
    log_probs = ops.log_softmax(model((source, target[:, :-1])))
    after = target[:, 1:]
    want = np.take_along_axis(to_numpy(log_probs), after[..., None], -1)
    want = want[..., 0] * (after != 0)
    scores, token_scores = model.score(source, target)
    assert_close(token_scores, want, 1e-4)
    assert_close(scores, want.sum(axis=1), 1e-4)
    padded = np.pad(target, ((0, 0), (0, 2)))
    assert_close(model.score(source, padded)[0], scores, 1e-5)
    behind = np.pad(target, ((0, 0), (2, 0)))
    assert_close(model.score(source, behind)[0], scores, 1e-5)
    alone = model.score(source[1:2], target[1:2])[1]
    assert_close(alone, token_scores[1:2], 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        BeamSearch(3, 2, 0.6, 0.2, max_length=5),
        BeamSearch(3, 2, max_length=6, no_repeat_ngram_size=2, min_length=3),
        Sampling(2.0, top_k=4, max_length=5, seed=1),
    ],
)
@pytest.mark.parametrize("kind", ["one attention", "limited", "copying"])
def test_tokens_that_are_found_have_the_scores_of_the_model(search, kind):
    source = OWN if kind == "copying" else SOURCE
    model = small_model(copying=kind == "copying")
    if kind == "limited":
        table = np.arange(WORDS)[:, None] % 4 + 5
        model = model.limited_to(Shortlist(table, [8]))
    found = model.generate(source, search)
    tokens = to_numpy(found.tokens)
    for n in range(tokens.shape[1]):
        target = np.pad(tokens[:, n], ((0, 0), (1, 0)), constant_values=2)
        _, wanted = model.score(source, target)
        assert_close(found.token_scores[:, n], wanted, 1e-4)
        sums = ops.sum(wanted, axis=1)
        same = np.allclose(sums, to_numpy(found.scores)[:, n], atol=1e-4)
        penalties = getattr(search, "length_penalty", 0)
        assert same == (not penalties)
    for row, places in enumerate(tokens[:, 0]):  # of words without an id
        for word in places[places >= WORDS]:
            assert OWN[row, word - WORDS] == word


def test_empty_texts_have_the_score_of_their_end():
    model, ends = small_model(), np.array([[2, 3]] * 3)
    _, token_scores = model.score(SOURCE, ends)
    longer = np.pad(ends, ((0, 0), (0, 2)))
    wanted = small_model().score(SOURCE, longer)[1]
    assert_close(token_scores, wanted[:, :1], 1e-5)


def test_no_texts_have_no_scores():
    model = small_model()
    none = np.zeros((0, 4), "int32")
    shapes = [tuple(x.shape) for x in model.score(none, none)]
    assert shapes == [(0,), (0, 3)]
    with pytest.raises(
        ValueError, match=r"score needs a `target` of ids \(B, T\)"
    ):
        model.score(SOURCE, TARGET[:2])
    with pytest.raises(
        ValueError, match=r"score needs a `target` of ids \(B, T\)"
    ):
        model.score(SOURCE, TARGET[:, :1])
    with pytest.raises(ValueError, match="score needs target ids from 0 to"):
        model.score(SOURCE, TARGET + 7)
    for source in (SOURCE[0], 3):
        with pytest.raises(ValueError, match="score needs a source of the"):
            model.score(source, TARGET)
        with pytest.raises(ValueError, match="generate needs a source of the"):
            model.generate(source)


@pytest.mark.tensorflow
def test_texts_are_no_ids():
    model, texts = small_model(), np.full((3, 4), "a")
    with pytest.raises(ValueError, match=r"source ids .* Received: strings"):
        model.generate(texts)
    with pytest.raises(ValueError, match=r"target ids .* Received: strings"):
        model.score(SOURCE, texts)


class Counting(AbstractAttention):
    """Counts how often it computes what only depends on the source."""

    counted = 0

    def score(self, query, keys):
        return dot_scores(query, hoist(self.count, keys))

    def count(self, keys):
        self.counted += 1
        return 2 * keys


def test_what_depends_on_the_source_alone_is_computed_once():
    attention = Counting()
    model = small_model(attention)
    prepared, states, *_ = model.begin(SOURCE)
    attention.counted = 0
    step = word_step(model, prepared)
    for word in TARGET.T:
        _, states, _ = step(word[:, None], states)
    assert attention.counted == 1


@pytest.mark.parametrize(
    "name", ["copying", "lexical", "return_attention_scores"]
)
def test_what_needs_attention_says_so(name):
    with pytest.raises(ValueError, match=f"`{name}`"):
        small_model(None, **{name: True})


def test_copying_needs_one_vocabulary():
    with pytest.raises(ValueError, match="one vocabulary"):
        small_model(copying=True, target_vocabulary_size=12)
