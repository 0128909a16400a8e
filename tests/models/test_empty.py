"""Batches without rows, and sources without positions."""

import functools

import keras
import numpy as np
import pytest
from keras import layers
from ready import EAGER
from ready import GRAPH
from ready import make_ready
from samples import to_numpy
from seq2seqs import built_model

import keras_attention as ka

EMPTY = [(0, 4), (2, 0), (0, 0)]
ENCODERS = {
    "ours": lambda: ka.RecurrentEncoder(4),
    "Keras": lambda: layers.Bidirectional(
        layers.LSTM(4, return_sequences=True, return_state=True)
    ),
}
SEARCHES = [
    ka.GreedySearch(max_length=3),
    ka.BeamSearch(2, max_length=3, coverage_penalty=0.1),
    ka.Sampling(max_length=3),
]


def make(encoder="ours", **changes):
    attention = ka.MultiHead(ka.LocationAwareAttention(3, 2, 3), 2)
    cell = layers.LSTMCell(8)
    return built_model(cell, attention, encoder=ENCODERS[encoder](), **changes)


made = functools.cache(make)  # once, for tests that change nothing of it


def ids(rows, words):
    return np.full((rows, words), 5, "int32")


@pytest.mark.parametrize("shape", EMPTY)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_call_scores_them(encoder, shape):
    model = made(encoder, copying=True)
    rows, _ = shape
    found = to_numpy(model((ids(*shape), ids(rows, 3))))
    assert found.shape[:2] == (rows, 3)
    assert np.isfinite(found).all()
    padding = model((np.zeros((rows, 2), "int32"), ids(rows, 3)))
    if not shape[1]:
        np.testing.assert_allclose(found[..., :9], to_numpy(padding)[..., :9])


both_ways = pytest.mark.parametrize(
    "way",
    [
        pytest.param(EAGER, id="eager"),
        pytest.param(GRAPH, id="graph", marks=pytest.mark.slow),
    ],
)


@both_ways
def test_they_train_and_predict(way):
    model = make()
    model.compile("sgd", ka.SequenceCrossentropy(), **way)
    make_ready(model, (ids(2, 4), ids(2, 3)))
    for rows, words in ((3, 2), (2, 4), *EMPTY):
        pair = ids(rows, words), ids(rows, 3)
        assert np.isfinite(model.train_on_batch(pair, pair[1]))
        found = model.predict_on_batch(pair)
        assert found.shape == (rows, 3, 9)
        assert np.isfinite(found).all()


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("search", SEARCHES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("shape", EMPTY)
def test_searches_find_texts_of_them(search, shape):
    model = made()
    found = model.generate(ids(*shape), search)
    assert found.tokens.shape[0] == shape[0]
    assert np.isfinite(to_numpy(found.scores)).all()
    (weights,) = model.attend(ids(*shape), ids(shape[0], 3))
    assert (to_numpy(weights) == 0).all() or shape[1]


@pytest.mark.slow
@pytest.mark.graphs
@pytest.mark.parametrize("search", SEARCHES, ids=lambda x: type(x).__name__)
def test_a_program_that_is_traced_for_others_finds_them(search):
    model = make()
    for rows, words in ((2, 4), (3, 2), *EMPTY):
        found = model.generate(ids(rows, words), search)
        assert found.tokens.shape[0] == rows
        assert np.isfinite(to_numpy(found.scores)).all()


def test_features_without_positions():
    model = make(features=6)
    for rows, words in EMPTY:
        features = np.ones((rows, words, 6), "float32")
        found = to_numpy(model((features, ids(rows, 3))))
        assert found.shape == (rows, 3, 9)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("shape", EMPTY)
@pytest.mark.parametrize("training", [False, True])
def test_an_encoder_reads_them(shape, training):
    encoder = ka.RecurrentEncoder(3, depth=2, cell="gru")
    sequence = np.ones((*shape, 4), "float32")
    encoder.build((None, None, 4))
    found, *states = encoder(sequence, training=training)
    assert tuple(found.shape) == (*shape, 6)
    states = [to_numpy(x) for x in keras.tree.flatten(states)]
    assert {x.shape for x in states} == {(shape[0], 3)}
    assert all((x == 0).all() for x in states) or shape[1]


@pytest.mark.parametrize("shape", [*EMPTY, (2, 3)])
@pytest.mark.parametrize("order", [0, 1])
def test_exact_hard_attention_reads_them(order, shape):
    output = ka.HardAttention(ka.LuongGeneral(), 4, order, monotonic=order == 1)
    model = built_model(layers.GRUCell(8), None, output=output)
    for words in (0, 3) if shape == (2, 3) else (3,):
        pair = ids(*shape), ids(shape[0], words)
        assert model(pair).shape == (shape[0], words, 9)
        (weights,) = model.attend(*pair)
        found = to_numpy(weights), to_numpy(output.align(model, *pair))
        assert [x.shape[:2] for x in found] == [
            (shape[0], words),
            (shape[0], max(words - 1, 0)),
        ]
        assert all(np.isfinite(x).all() for x in found)


@both_ways
def test_words_that_are_dropped_or_guessed_may_be_none(way):
    model = built_model(word_dropout=0.5, scheduled_sampling=True)
    model.compile("sgd", ka.SequenceCrossentropy(), **way)
    model.sampling_probability.assign(0.5)
    for rows, words in ((2, 4), *EMPTY):
        pair = ids(rows, words), ids(rows, words)
        assert np.isfinite(model.train_on_batch(pair, pair[1]))
