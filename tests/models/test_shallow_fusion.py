"""ShallowFusion: sums of log probabilities, in NumPy over every text."""

import keras
import numpy as np
import pytest
from every_text import before
from every_text import check_best
from every_text import every_text
from keras import ops
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_language_model
from seq2seqs import small_model
from tables import arrays

from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import ShallowFusion
from keras_attention import Shortlist

pytestmark = pytest.mark.usefixtures("without_graphs")


def log_probabilities(model, *inputs):
    """What a model says of all words, with words of the source if it copies."""
    inputs = inputs[0] if len(inputs) == 1 else inputs
    return to_numpy(ops.log_softmax(model(inputs))).astype("float64")


def taken(log_probs, texts):
    found = np.take_along_axis(log_probs, texts[..., None], -1)[..., 0]
    return np.where(texts == 0, 0.0, found)


@pytest.mark.slow
def test_the_best_texts_are_those_of_the_sum():
    model, helper = small_model(), small_language_model()
    fused = ShallowFusion(model, helper, 0.4)
    texts = every_text(WORDS, 3)
    search = BeamSearch(len(texts), n_best=20, max_length=3)
    found = arrays(fused.generate(SOURCE, search))
    helped = taken(log_probabilities(helper, before(texts)), texts)
    for row, source in enumerate(SOURCE):
        inputs = np.repeat(source[None], len(texts), axis=0), before(texts)
        said = taken(log_probabilities(model, *inputs), texts)
        check_best(found, row, texts, (said + 0.4 * helped).sum(axis=1))
    alone = arrays(model.generate(SOURCE, GreedySearch(max_length=3)))
    again = ShallowFusion(model, helper, 0.0)
    again = arrays(again.generate(SOURCE, GreedySearch(max_length=3)))
    np.testing.assert_array_equal(again.tokens, alone.tokens)
    np.testing.assert_allclose(again.weights, alone.weights, atol=1e-6)


@pytest.mark.slow
def test_copied_words_are_unknown_to_the_small_language_model():
    model, helper = small_model(copying=True), small_language_model()
    fused = ShallowFusion(model, helper, 0.4)
    source = SOURCE.copy()
    source[0, 2] = WORDS + 2
    target = np.array([[2, WORDS + 2, 4, 3], [2, 4, 3, 0], [2, 8, 5, 3]])
    known = np.where(target < WORDS, target, 1)
    said = log_probabilities(model, source, target[:, :-1])
    helped = log_probabilities(helper, known[:, :-1])
    wanted = taken(said, target[:, 1:]) + 0.4 * taken(helped, known[:, 1:])
    wanted = np.where(target[:, 1:] == 0, 0, wanted)
    assert_close(fused.score(source, target)[1], wanted, 1e-4)


@pytest.mark.slow
def test_a_shortlist_limits_the_model_alone():
    model, helper = small_model(), small_language_model()
    shortlist = Shortlist(np.arange(WORDS)[:, None] % 4 + 5, [8])
    fused = ShallowFusion(model, helper, 0.4).limited_to(shortlist)
    found = arrays(fused.generate(SOURCE, BeamSearch(3, max_length=4)))
    texts = found.tokens[:, 0]
    target = np.pad(texts, ((0, 0), (1, 0)), constant_values=2)
    limited = to_numpy(model.limited_to(shortlist).score(SOURCE, target)[1])
    helped = taken(log_probabilities(helper, target[:, :-1]), texts)
    wanted = limited + 0.4 * helped
    np.testing.assert_allclose(found.token_scores[:, 0], wanted, atol=1e-4)


@pytest.mark.slow
def test_it_is_saved_as_a_whole(tmp_path):
    both = Ensemble([small_model(), small_model(seed=4)], [1, 2])
    fused = ShallowFusion(both, small_language_model(), 0.3)
    fused.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert_close(
        again.score(SOURCE, TARGET)[1], fused.score(SOURCE, TARGET)[1], 1e-6
    )
    assert again.weight == 0.3


def test_another_weight_counts_at_once():
    fused = ShallowFusion(small_model(), small_language_model(), 0.3)
    before = to_numpy(fused.score(SOURCE, TARGET)[0])
    fused.weight = 2.0
    found = to_numpy(fused.score(SOURCE, TARGET)[0])
    assert (found != before).all()
    wanted = ShallowFusion(*fused.models, 2.0).score(SOURCE, TARGET)[0]
    assert_close(found, wanted, 1e-6)


def test_what_cannot_be_is_refused():
    other = small_model(target_vocabulary_size=WORDS + 1)
    with pytest.raises(ValueError, match="models with one target vocabulary"):
        ShallowFusion(other, small_language_model(), 0.3)
    with pytest.raises(ValueError, match="`weight` must be a non-negative"):
        ShallowFusion(small_model(), small_language_model(), -1.0)
    with pytest.raises(ValueError, match=r"`models\[1\]` must be an instance"):
        ShallowFusion(small_model(), None, 0.3)
