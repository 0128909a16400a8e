"""Every mechanism, alignment and order: trained by `fit`, and searched."""

import keras
import numpy as np
import pytest
from keras import ops
from mechanisms import ORDERS
from mechanisms import draw_ids
from mechanisms import make_attentions
from mechanisms import make_model
from mechanisms import pairs
from ready import EAGER
from ready import make_ready
from ready import without_graphs
from samples import to_numpy
from tiers import some

from keras_attention import BeamSearch
from keras_attention import SequenceCrossentropy

SOURCE = draw_ids([5, 4, 2, 3])


@pytest.mark.slow
@pytest.mark.parametrize("order", some(ORDERS, 1))
def test_one_step_of_fit_moves_every_weight(order):
    """But those behind "hard", which is for inference: nothing reaches them."""
    attentions = make_attentions(order)
    model = make_model(attentions, order)
    adam = keras.optimizers.Adam(0.01)
    model.compile(adam, loss=SequenceCrossentropy(), **EAGER)
    target = draw_ids([5, 3, 4, 2], seed=1)
    data = (SOURCE, target[:, :-1]), target[:, 1:]
    make_ready(model, data[0])
    before = [to_numpy(x) for x in model.trainable_variables]
    history = model.fit(*data, batch_size=4, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    still = set()
    for x, variable in zip(before, model.trainable_variables, strict=True):
        after = to_numpy(variable)
        assert np.isfinite(after).all(), variable.path
        if (x == after).all():
            still.add(variable.path)
    hard = {
        x.path
        for (_, kind), layer in zip(pairs(order), attentions, strict=False)
        for x in layer.trainable_variables
        if "hard" in kind
    }
    assert still == hard


@pytest.mark.slow
@pytest.mark.parametrize("order", some(ORDERS, 1))
@pytest.mark.parametrize("window", some([((0, 1),), None], 1))
def test_padding_in_front_changes_no_text(order, window):
    model = make_model(make_attentions(order), order, attention_window=window)
    search = BeamSearch(2, n_best=2, max_length=4, coverage_penalty=0.2)
    wide = np.pad(SOURCE, ((0, 0), (2, 0)))
    with without_graphs():
        plain, padded = (model.generate(x, search) for x in (SOURCE, wide))
    np.testing.assert_array_equal(
        to_numpy(padded.tokens), to_numpy(plain.tokens)
    )
    for x, y in (
        (padded.scores, plain.scores),
        (padded.weights[..., 2:], plain.weights),
        (model((wide, SOURCE)), model((SOURCE, SOURCE))),
    ):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", some(ORDERS, 1))
def test_a_hypothesis_has_the_score_of_its_own_tokens(order):
    """As a teacher would tell it: so all states have followed their beams."""
    model = make_model(make_attentions(order), order)
    search = BeamSearch(
        3, n_best=3, max_length=5, min_length=4, forbidden_ids=[0]
    )
    with without_graphs():
        tokens, scores, *_ = to_numpy(model.generate(SOURCE, search))
    for three in tokens:
        assert len({tuple(row) for row in three}) == 3
    rows = tokens.reshape(-1, 5)
    starts = np.full((len(rows), 1), search.start_id)
    given = np.concatenate([starts, rows[:, :-1]], axis=1)
    logits = model((np.repeat(SOURCE, 3, axis=0), given.astype("int32")))
    log_probs = to_numpy(ops.log_softmax(logits))
    told = np.take_along_axis(log_probs, rows[..., None], axis=2)[..., 0]
    told = np.where(rows > 0, told, 0).sum(axis=1)
    np.testing.assert_allclose(told.reshape(scores.shape), scores, atol=1e-5)
