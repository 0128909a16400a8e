"""States of callbacks: what they remember, and what cannot be kept."""

import collections
import threading
import warnings

import keras
import numpy as np
import pytest

from keras_attention.training.callback_states import fingerprints
from keras_attention.training.callback_states import known_arguments
from keras_attention.training.callback_states import others_of
from keras_attention.training.callback_states import read_callback
from keras_attention.training.callback_states import set_callback
from keras_attention.training.callback_states import warn_of_lost

LOGS = [{"loss": 1.0}, {"loss": 0.5}, {"loss": 0.7}, {"loss": 0.6}]


class Counter(keras.callbacks.Callback):
    def __init__(self, stop_at=None, thing=None):
        super().__init__()
        self.stop_at = stop_at
        self.thing = thing
        self.seen = []


def follow(callback, logs, first=0):
    for epoch, log in enumerate(logs, first):
        callback.on_epoch_end(epoch, dict(log))


def made(make, model):
    callback = make()
    callback.set_model(model)
    callback.set_params({"epochs": 4})
    callback.on_train_begin()
    return callback


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.callbacks.EarlyStopping(
            "loss", min_delta=0.1, patience=9, restore_best_weights=True
        ),
        lambda: keras.callbacks.ReduceLROnPlateau(
            "loss", min_delta=0.3, patience=2
        ),
        keras.callbacks.History,
    ],
)
def test_goes_on_where_another_was(make, model):
    """In each of them the sign of `min_delta` turns once."""
    whole, half = made(make, model), made(make, model)
    before = fingerprints(half)
    follow(half, LOGS[:2])
    other = made(make, model)
    set_callback(other, read_callback(half, before))
    follow(other, LOGS[2:], 2)
    follow(whole, LOGS)
    states = [read_callback(x, {})["values"] for x in (other, whole)]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        np.testing.assert_equal(value, states[1][name], name)


@pytest.mark.parametrize("append", [False, True])
def test_logs_have_each_row_once(tmp_path, model, append):
    def log(name):
        return lambda: keras.callbacks.CSVLogger(tmp_path / name, ",", append)

    whole, killed = made(log("whole"), model), made(log("killed"), model)
    follow(whole, LOGS)
    before = fingerprints(killed)
    follow(killed, LOGS[:2])
    state = read_callback(killed, before)
    follow(killed, LOGS[2:3], 2)  # a row that no state knows
    other = made(log("killed"), model)
    set_callback(other, state)
    follow(other, LOGS[2:], 2)
    texts = [(tmp_path / x).read_bytes() for x in ("whole", "killed")]
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 5


def test_arrays_are_told_apart_by_what_is_in_them():
    callback = Counter(thing=[np.zeros(3), np.array(["a", "b"])])
    before = fingerprints(callback)
    assert fingerprints(callback) == before
    callback.thing[0][1] = 1  # in its place
    after = fingerprints(callback)
    assert [x for x in after if after[x] != before[x]] == ["thing"]


def test_what_has_not_changed_is_left_to_the_user():
    first = Counter(stop_at=7)
    before = fingerprints(first)
    first.seen.append(1)
    other = Counter(stop_at=9)
    set_callback(other, read_callback(first, before))
    assert (other.stop_at, other.seen) == (9, [1])


def test_warns_of_what_is_lost():
    callback = Counter()
    before = others_of(callback)
    callback.window = collections.deque([1, 2])
    with pytest.warns(UserWarning, match=r"keep Counter\.window: "):
        assert warn_of_lost(callback, before)


def test_warns_of_what_grows():
    callback = Counter(thing=collections.deque())
    before = others_of(callback)
    assert not warn_of_lost(callback, before)
    callback.thing.append(1)
    with pytest.warns(UserWarning, match=r"Counter\.thing"):
        assert warn_of_lost(callback, before)


def test_things_that_stay_are_no_reason_to_warn(model, tmp_path):
    callback = Counter(thing=[threading.Lock(), model, len])
    before = others_of(callback)
    callback.seen.append(3)
    with open(tmp_path / "x", "w") as callback.file, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not warn_of_lost(callback, before)


def test_arguments_are_those_that_decide(tmp_path):
    stop = keras.callbacks.EarlyStopping("loss", patience=3, verbose=1)
    found = known_arguments(stop)
    assert found["patience"] == 3
    assert "verbose" not in found
    file = tmp_path / "best.keras"
    found = known_arguments(keras.callbacks.ModelCheckpoint(file))
    assert "filepath" not in found
    assert found["save_best_only"] is False
    assert known_arguments(Counter(1)) is None
