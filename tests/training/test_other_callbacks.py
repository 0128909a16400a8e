"""OtherCallbacks: each state goes to its callback."""

import warnings

import keras
import pytest

from keras_attention.training.other_callbacks import OtherCallbacks


class Counter(keras.callbacks.Callback):
    def __init__(self, count=0):
        super().__init__()
        self.count = count


def stops(*patiences):
    return [keras.callbacks.EarlyStopping(patience=x) for x in patiences]


def test_each_remembers_its_own():
    counters = [Counter(), Counter()]
    callbacks = OtherCallbacks([*stops(3), *counters])
    counters[0].count, counters[1].count = 5, 7
    states = callbacks.read()
    again = [Counter(), Counter()]
    OtherCallbacks([keras.callbacks.History(), *again]).put_back(states)
    assert [x.count for x in again] == [5, 7]


def test_names_those_that_are_made_in_another_way():
    states = OtherCallbacks([*stops(3, 4), Counter(1)]).read()
    assert OtherCallbacks([*stops(3, 4), Counter(2)]).differing(states) == []
    found = OtherCallbacks([Counter(2), *stops(3, 5)]).differing(states)
    assert found == ["EarlyStopping"]


def test_warns_once():
    callback = Counter()
    callbacks = OtherCallbacks([callback])
    callback.thing = object()
    with pytest.warns(UserWarning, match=r"Counter\.thing"):
        callbacks.read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        callbacks.read()
