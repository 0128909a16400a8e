"""Scheduled sampling: a guess now and then, and otherwise the teacher."""

import functools

import keras
import numpy as np
import pytest
from keras import ops
from ready import EAGER
from ready import GRAPH
from ready import make_ready
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import small_model

from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention.training.scheduled_sampling import feed_guesses


def fed(model, probability, target=TARGET, source=SOURCE, seed=0):
    begun = model.begin(source)
    return to_numpy(
        feed_guesses(
            functools.partial(model.next_word, prepared=begun.prepared),
            begun.states,
            ops.convert_to_tensor(target),
            ops.convert_to_tensor(probability, "float32"),
            keras.random.SeedGenerator(seed),
        )
    )


def say_seven(model):
    """Let a model say nothing else."""
    bias = np.full(9, -1e9)
    bias[7] = 0.0
    model.output_layer.bias.assign(bias)


def test_nothing_is_guessed_at_probability_0():
    np.testing.assert_array_equal(fed(small_model(), 0.0), TARGET)


def test_every_word_but_the_first_is_a_guess_at_probability_1():
    model = small_model()
    say_seven(model)
    want = np.where(TARGET > 2, 7, TARGET)
    np.testing.assert_array_equal(fed(model, 1.0), want)


@pytest.mark.slow
def test_guesses_follow_the_guesses_before_them():
    """Where one word is nearly sure: the same text as by greedy search."""
    model = small_model()
    kernel = 40 * model.output_layer.kernel
    model.output_layer.kernel.assign(kernel)
    bias = np.zeros(9)
    bias[[0, 2, 3]] = -1e9  # neither ends nor starts again
    model.output_layer.bias.assign(bias)
    target = np.full((3, 6), 4)
    target[:, 0] = 2
    want = [target[:, 0]]
    for _ in range(5):
        prefix = np.stack(want, axis=1)
        logits = to_numpy(model((SOURCE, prefix)))
        want.append(logits[:, -1].argmax(-1))
    found = fed(model, 1.0, target)
    np.testing.assert_array_equal(found, np.stack(want, axis=1))
    assert len(np.unique(found)) > 2


def test_each_word_has_its_own_luck():
    model = small_model()
    say_seven(model)
    target = np.full((200, 30), 4)
    found = fed(model, 0.3, target, np.repeat(SOURCE[:1], 200, axis=0))
    guessed = found[:, 1:] == 7
    assert guessed.mean() == pytest.approx(0.3, abs=0.03)
    assert guessed.mean(axis=0).std() < 0.06
    assert (found[:, 0] == 4).all()
    both = guessed[:, 1:] & guessed[:, :-1]
    assert both.mean() == pytest.approx(0.09, abs=0.02)


def test_guesses_are_drawn_by_their_probability():
    model = small_model(None)
    rows = 4000
    source = np.repeat(SOURCE[:1], rows, axis=0)
    target = np.repeat([[2, 4]], rows, axis=0)
    log_probs = to_numpy(ops.log_softmax(model((SOURCE[:1], TARGET[:1, :1]))))[
        0, 0
    ]
    want = np.exp(log_probs)
    want[4] += want[0]  # padding stays what the teacher says
    want[0] = 0
    counts = np.bincount(fed(model, 1.0, target, source)[:, 1], minlength=9)
    np.testing.assert_allclose(counts / rows, want, atol=0.03)


@pytest.mark.slow
def test_fit_feeds_guesses_from_the_start():
    """To a model that was never called: the first step makes its weights."""
    keras.utils.set_random_seed(0)
    both = {"return_sequences": True, "return_state": True}
    encoder = keras.layers.Bidirectional(keras.layers.GRU(4, **both))
    old = small_model(scheduled_sampling=True, encoder=encoder)
    model = Seq2Seq.from_config(old.get_config())
    model.sampling_probability.assign(1.0)
    model.compile("sgd", loss=SequenceCrossentropy(), **GRAPH)
    loss = model.train_on_batch((SOURCE, TARGET), np.full_like(TARGET, 7))
    assert np.isfinite(float(loss))
    assert len(model.weights) == len(old.weights)


def test_only_training_guesses():
    model = small_model(scheduled_sampling=True)
    assert not model.sampling_probability.trainable
    plain = to_numpy(model((SOURCE, TARGET)))
    model.sampling_probability.assign(1.0)
    assert_close(model((SOURCE, TARGET)), plain, 0)
    guessed = to_numpy(model((SOURCE, TARGET), training=True))
    assert np.abs(guessed[:, 1:] - plain[:, 1:]).max() > 0.1
    assert_close(guessed[:, 0], plain[:, 0], 1e-4)


@pytest.mark.slow
def test_gradients_are_those_of_what_is_fed():
    """Trained on guesses, and trained on the same words by a teacher."""
    keras.utils.set_random_seed(0)
    model = small_model(scheduled_sampling=True)
    model.sampling_probability.assign(1.0)
    say_seven(model)
    labels = np.full_like(TARGET, 7)
    teacher = np.where(TARGET > 2, 7, TARGET)
    weights = model.get_weights()
    after = []
    for words in (TARGET, teacher):
        model.set_weights(weights)
        model.compile("sgd", loss=SequenceCrossentropy(0.1), **EAGER)
        make_ready(model, (SOURCE, words))
        model.train_on_batch((SOURCE, words), labels)
        after.append([to_numpy(w.value) for w in model.trainable_variables])
    for x, y in zip(*after, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
