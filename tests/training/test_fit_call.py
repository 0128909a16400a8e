"""The call of `fit`: found from a callback."""

import keras
import numpy as np
import pytest

from keras_attention.training.fit_call import find_fit_call
from keras_attention.training.fit_call import set_first_epoch

DATA = np.ones((8, 2)), np.ones((8, 1))


class Finder(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.call = find_fit_call()


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=keras.backend.backend() != "jax")
    return model


def test_finds_siblings_and_arguments(model):
    finder, other = Finder(), keras.callbacks.Callback()
    model.fit(*DATA, batch_size=4, callbacks=[other, finder], verbose=0)
    call = finder.call
    assert call.siblings.callbacks[:2] == [other, finder]
    assert call.data is DATA[0]
    assert call.arguments["batch_size"] == 4
    assert call.describe(model)["steps"] == 2
    assert not call.goes_on
    assert call.batches is None


def test_finds_them_in_a_loop_of_ones_own(model):
    finder = Finder()
    keras.callbacks.CallbackList([finder], model=model).on_train_begin()
    assert finder.call.arguments == {}
    assert not finder.call.is_shuffled_anew


def test_a_callback_alone_is_an_error():
    with pytest.raises(ValueError, match="Give it to `fit`"):
        Finder().on_train_begin()


def test_the_first_epoch_is_set_and_forgotten(model, tmp_path):
    weights = model.get_weights()
    for number in (2, 0):
        (tmp_path / str(number)).mkdir()
        set_first_epoch(model, number, str(tmp_path / str(number)))
        np.testing.assert_equal(model.get_weights(), weights)
        fitted = model.fit(*DATA, epochs=3, verbose=0)
        assert fitted.epoch == list(range(number, 3))
        weights = model.get_weights()


class Halves(keras.utils.PyDataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return tuple(x[4 * index : 4 * index + 4] for x in DATA)


def test_the_length_of_a_sequence_is_known(model):
    finder = Finder()
    model.fit(Halves(), callbacks=[finder], verbose=0)
    assert finder.call.batches == 2
