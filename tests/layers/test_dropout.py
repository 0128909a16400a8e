"""Dropout: the numbers of Keras' layer. (Replicas: `tests/backend`.)"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import Dropout
from keras_attention.layers import WordDropout


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("training", [False, True])
def test_is_keras_dropout(rate, training):
    x = np.ones((3, 8), "float32")
    one, other = (
        ops.convert_to_numpy(layer(rate, seed=1)(x, training=training))
        for layer in (Dropout, keras.layers.Dropout)
    )
    np.testing.assert_array_equal(one, other)
    assert (one == 0).any() == (training and rate > 0)
    assert (ops.convert_to_numpy(Dropout(rate)(x)) == 1).all()


def factors(ids, rate, training=True):
    """What each word is multiplied by: the same for all its features."""
    keras.utils.set_random_seed(0)
    embedded = np.ones((*ids.shape, 3), "float32")
    found = WordDropout(rate)(embedded, ids, training=training)
    found = ops.convert_to_numpy(found)
    np.testing.assert_array_equal(found, found[:, :, :1].repeat(3, 2))
    return found[:, :, 0]


def test_words_are_dropped_wherever_they_stand():
    ids = np.random.default_rng(0).integers(0, 20, (400, 30)).astype("int32")
    found = factors(ids, 0.25)
    kinds = found > 0
    np.testing.assert_allclose(found[kinds], 4 / 3, rtol=1e-6)
    for row, kept in zip(ids, kinds, strict=True):
        assert not set(row[kept]) & set(row[~kept])
    share = np.mean([kinds[ids == word].mean() for word in range(20)])
    assert share == pytest.approx(0.75, abs=0.02)
    shares = [kinds[(ids == word).any(1)].mean(1) for word in range(20)]
    assert min(x.std() for x in shares) > 0.05  # other words in other rows


@pytest.mark.parametrize(("rate", "training"), [(0.5, False), (0.0, True)])
def test_words_stay_without_a_rate_and_outside_of_training(rate, training):
    ids = np.arange(8, dtype="int32")[None]
    assert (factors(ids, rate, training) == 1).all()
