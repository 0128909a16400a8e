"""Searches in a whole model: `Seq2Seq.generate`, and a language model."""

import functools

import keras
import numpy as np
import pytest
from gradients import to_numpy
from keras import layers
from keras import ops
from ready import without_graphs
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import StateBridge

BACKEND = keras.backend.backend()
CLASSES, LENGTH = 9, 6
SOURCE = np.array([[2, 4, 5, 6, 3], [2, 7, 3, 0, 0], [2, 8, 4, 3, 0]], "int32")


@functools.cache
def model():
    """Untrained, but with large weights: sure of itself."""
    keras.utils.set_random_seed(3)
    made = Seq2Seq(
        source_vocabulary_size=CLASSES,
        target_vocabulary_size=CLASSES,
        embedding_dim=8,
        encoder=RecurrentEncoder(6),
        decoder=AttentionDecoder(
            AttentionDecoderCell(layers.LSTMCell(12), BahdanauAttention(5))
        ),
        bridge=StateBridge(),
    )
    made((SOURCE, SOURCE[:, :1]))
    for weight in made.weights:
        weight.assign(3 * weight)
    return made


def log_p(rows, texts):
    """What the model says after these texts, by the call it trains with."""
    padded = [[2, *x] + [0] * (LENGTH - len(x) - 1) for x in texts]
    padded = np.array(padded, "int32")  # one shape for all steps
    logits = to_numpy(model()((SOURCE[rows], padded)))
    after = logits[np.arange(len(texts)), [len(x) for x in texts]]
    return after - np.log(np.exp(after).sum(-1, keepdims=True))


def naive(size, penalty):
    """Beam search without padding and start, which are never generated."""
    beams = [[([], 0.0, 0.0)] * size for _ in SOURCE]
    for t in range(LENGTH):
        flat = [beam[0][:t] for row in beams for beam in row]
        said = log_p(np.repeat(np.arange(len(SOURCE)), size), flat)
        said = said.reshape(len(SOURCE), size, CLASSES)
        for b, row in enumerate(beams):
            every = [beam for beam in row if beam[0][-1:] == [3]]
            for k, (tokens, total, _) in enumerate(row[: size if t else 1]):
                for token in (1, *range(3, CLASSES)):
                    longer = total + said[b, k, token]
                    score = longer / ((6 + t) / 6) ** penalty
                    if tokens[-1:] != [3]:
                        every.append(([*tokens, token], longer, score))
            beams[b] = sorted(every, key=lambda beam: -beam[2])[:size]
    return beams


@pytest.mark.slow
@pytest.mark.parametrize("penalty", some([1.0, 0.0], 1))
def test_beams_are_what_the_trained_model_would_say(penalty):
    search = BeamSearch(3, 3, length_penalty=penalty, max_length=LENGTH)
    found = model().generate(SOURCE, search)
    tokens, scores = to_numpy(found.tokens), to_numpy(found.scores)
    for row, texts in enumerate(naive(3, penalty)):
        for n, (want, _, score) in enumerate(texts):
            padded = want + [0] * (LENGTH - len(want))
            np.testing.assert_array_equal(tokens[row, n], padded)
            np.testing.assert_allclose(scores[row, n], score, rtol=1e-4)


@pytest.mark.slow
def test_weights_are_those_of_the_texts():
    """Padding of the source gets none; every token shares out 1."""
    found = model().generate(SOURCE, BeamSearch(3, 2, max_length=LENGTH))
    weights, lengths = to_numpy(found.weights), to_numpy(found.lengths)
    assert weights.shape == (3, 2, LENGTH, 5)
    real = np.arange(LENGTH) < lengths[..., None]
    np.testing.assert_allclose(weights.sum(-1), real, atol=1e-5)
    assert (weights[1, :, :, 3:] == 0).all()


@pytest.mark.slow
def test_rows_and_padding_do_not_matter():
    search = BeamSearch(4, 2, coverage_penalty=0.2, max_length=LENGTH)
    every = model().generate(SOURCE, search)
    alone = model().generate(SOURCE[1:2, :3], search)
    np.testing.assert_array_equal(
        to_numpy(every.tokens)[1:2], to_numpy(alone.tokens)
    )
    np.testing.assert_allclose(
        to_numpy(every.scores)[1:2], to_numpy(alone.scores), rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function")
@pytest.mark.parametrize("xla", some([True, False], 1))
def test_one_graph_for_all_sources(xla):
    import tensorflow as tf

    search = BeamSearch(
        3, 2, 0.6, 0.2, max_length=LENGTH, no_repeat_ngram_size=2
    )
    compiled = tf.function(
        lambda source: model().generate(source, search),
        jit_compile=xla,
        input_signature=[tf.TensorSpec((None, None), "int32")],
    )
    for source in (SOURCE, SOURCE[1:2, :3]):
        got = compiled(source)
        with without_graphs():
            want = model().generate(source, search)
        np.testing.assert_array_equal(got.tokens, want.tokens)
        np.testing.assert_allclose(got.scores, want.scores, rtol=1e-4)
        np.testing.assert_allclose(got.weights, want.weights, atol=1e-5)


@pytest.mark.parametrize(
    "search",
    [
        GreedySearch(4, end_id=0),
        BeamSearch(4, max_length=4, end_id=0),
        Sampling(top_k=1, max_length=4, end_id=0),
    ],
    ids=lambda search: type(search).__name__,
)
def test_a_language_model_has_neither_source_nor_state(search):
    table = np.log(np.roll(np.eye(6) + 0.01, 1, axis=1)).astype("float32")

    def step(tokens, state):
        assert state == ()
        return ops.take(table, tokens, axis=0), state, None

    found = search(step, (), 2)
    assert to_numpy(found.tokens).tolist() == [[[3, 4, 5, 0]]] * 2
    assert found.weights is None
