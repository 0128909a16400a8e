"""AverageWeights: the mean of what the epochs ended with."""

import keras
import numpy as np
import pytest
from gradients import to_numpy

from keras_attention.training import AverageWeights


class Remember(keras.callbacks.Callback):
    """Keeps the weights after each epoch."""

    def on_train_begin(self, logs=None):
        self.every = []

    def on_epoch_end(self, epoch, logs=None):
        self.every.append([np.array(to_numpy(w)) for w in self.model.weights])


def fit(callbacks, epochs=4, model=None, dtype="float32"):
    dense = keras.layers.Dense(3, dtype=dtype)
    model = model or keras.Sequential(
        [dense, keras.layers.Dropout(0.1, seed=1)]
    )
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(8, 3))
    model.fit(x, x, epochs=epochs, callbacks=callbacks, verbose=0)
    return model


@pytest.mark.parametrize(
    ("last", "dtype", "atol"),
    [(3, "float32", 1e-6), (1, "float64", 1e-12), (9, "bfloat16", 1e-2)],
)
def test_is_the_mean_of_the_last_epochs(last, dtype, atol):
    remember, average = Remember(), AverageWeights(last)
    model = fit([remember, average], dtype=dtype)
    for _ in range(2):  # a second call begins anew
        kept = remember.every[-last:]
        for n, weight in enumerate(model.weights):
            mean = np.mean([weights[n] for weights in kept], axis=0)
            np.testing.assert_allclose(to_numpy(weight), mean, 0, atol)
        assert average.kept == []
        model = fit([remember, average], 2, model)


def test_no_epoch_changes_nothing():
    model = fit([])
    before = [to_numpy(w) for w in model.weights]
    fit([AverageWeights()], 0, model)
    for x, y in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(x, to_numpy(y))


def test_refuses_a_number_not_positive():
    with pytest.raises(ValueError, match="`last` must be a positive integer"):
        AverageWeights(0)
