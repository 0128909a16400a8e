"""What makes a training the same one."""

import interrupted
import keras
import pytest
from keras import layers

from keras_attention.training.run_identity import identify
from keras_attention.training.run_identity import identify_callback


def make(units=3, rate=0.1, loss="mse", activation="relu", optimizer="Adam"):
    inputs = keras.Input((2,))
    hidden = layers.Dense(units, activation)(inputs)
    model = keras.Model(inputs, layers.Dense(1)(hidden))
    model.compile(getattr(keras.optimizers, optimizer)(rate), loss)
    return model


def test_a_command_that_runs_again_is_the_same():
    """Names count on in a process: `dense`, `dense_1`."""
    assert identify(make(), {"steps": 3}) == identify(make(), {"steps": 3})


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"units": 4}, "model"),
        ({"activation": "tanh"}, "model"),
        ({"rate": 0.2}, "optimizer"),
        ({"optimizer": "SGD"}, "optimizer"),
        ({"loss": "mae"}, "loss or metrics"),
    ],
)
def test_other_commands_are_told_apart(change, part):
    one, other = identify(make(), {}), identify(make(**change), {})
    assert [x for x in one if one[x] != other[x]] == [part]


def test_arguments_are_told_apart():
    one, other = (identify(make(), {"steps": n}) for n in (3, 4))
    (part,) = [x for x in one if one[x] != other[x]]
    assert "argument of fit" in part


def test_what_training_changes_is_not_part_of_it():
    model = make()
    stop = keras.callbacks.ReduceLROnPlateau("loss", min_delta=0.1)
    before = identify(model, {}), identify_callback(stop)
    model.optimizer.learning_rate = 0.001
    stop.min_delta = -0.1
    assert (identify(model, {}), identify_callback(stop)) == before


def test_models_without_a_configuration_have_a_class():
    def metric(y_true, y_pred):
        return 0.0

    model = interrupted.make_tiny()
    model.compile("sgd", lambda *_: 0.0, metrics=[metric])
    assert "Tiny" in identify(model, {})["model"]


def test_callbacks_of_others_are_all_the_same():
    one = interrupted.Interrupt("on_epoch_end", 1)
    other = interrupted.Interrupt("on_epoch_end", 2)
    assert identify_callback(one) == identify_callback(other)
    stops = [keras.callbacks.EarlyStopping(patience=x) for x in (1, 2)]
    assert identify_callback(stops[0]) != identify_callback(stops[1])
