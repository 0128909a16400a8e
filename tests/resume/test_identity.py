"""What makes a call the same training, and which others are refused."""

import shutil

import keras
import numpy as np
import pytest
from interrupted import EAGER
from interrupted import Interrupt
from interrupted import Interruption

from keras_attention import resumable_fit

X = np.random.default_rng(0).normal(size=(40, 6)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")


def loss(a, b):
    return keras.ops.mean((a - b) ** 2)


def make_loss(power):
    def scaled(a, b):
        return keras.ops.mean((a - b) ** power)

    return scaled


class Power(keras.losses.Loss):
    def __init__(self, power, step=1):
        super().__init__()
        self.power, self.step = power, step

    def call(self, a, b):
        return keras.ops.mean((a - b) ** self.power)

    def get_config(self):
        return dict([("power", self.power), ("unit", 1)][:: self.step])


class Steady(keras.optimizers.schedules.LearningRateSchedule):
    """Has no config."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, step):
        return self.rate


class Rows(keras.utils.PyDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rows = slice(8 * index, 8 * index + 8)
        return X[rows], Y[rows]


def fit(folder, *callbacks, loss="mse", rate=0.1, units=3, **options):
    keras.utils.set_random_seed(7)
    layers = [keras.layers.Dense(units), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((6,)), *layers])
    model.compile(keras.optimizers.SGD(rate), loss, **EAGER)
    given = {"x": X, "y": Y, "batch_size": 8, "shuffle": False, "verbose": 0}
    given = {**given, "epochs": 2, "callbacks": callbacks, **options}
    if isinstance(given["x"], keras.utils.PyDataset):
        given = {k: v for k, v in given.items() if k not in ("y", "batch_size")}
    return resumable_fit(model, folder, save_freq=1, **given)


def stop(folder, **options):
    with pytest.raises(Interruption):
        fit(folder, Interrupt("on_train_batch_end", 0, 2), **options)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    stop(folder)
    return folder


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"x": X * 100}, "x"),
        ({"y": 1 - Y}, "y"),
        ({"x": X[:39], "y": Y[:39]}, "x and y"),
        ({"x": X.astype("float64")}, "x"),
        ({"x": [X]}, "x"),
        ({"batch_size": 4}, "batch_size"),
        ({"shuffle": True}, "shuffle"),
        ({"class_weight": {0: 1.0, 1: 5.0}}, "class_weight"),
        ({"sample_weight": np.arange(40.0)}, "sample_weight"),
        ({"validation_data": (X, Y)}, "validation_data"),
        ({"validation_split": 0.5}, "validation_split"),
        ({"steps_per_epoch": 2}, "steps_per_epoch"),
        ({"loss": "mae"}, "loss"),
        ({"rate": 0.2}, "optimizer"),
        ({"units": 4}, "model"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_another_training_is_refused(stopped, options, part):
    before = (stopped / "training.state").read_bytes()
    with pytest.raises(ValueError, match=f"its {part}.* differ"):
        fit(stopped, **options)
    assert (stopped / "training.state").read_bytes() == before


def test_the_same_command_goes_on(stopped, tmp_path):
    """Names count on in a process: `dense`, `dense_1`."""
    folder = shutil.copytree(stopped, tmp_path / "state")
    fitted = fit(folder, x=X.copy(), epochs=3)
    assert fitted.epoch == [0, 1, 2]
    whole = fit(tmp_path / "whole", epochs=3)
    np.testing.assert_equal(fitted.history, whole.history)


@pytest.mark.parametrize(
    ("first", "other", "part"),
    [
        ({"loss": loss}, {"loss": make_loss(2)}, "loss"),
        ({"loss": Power(2)}, {"loss": Power(4)}, "loss"),
        ({"rate": lambda: 0.1}, {"rate": lambda: 0.2}, "optimizer"),
        ({"rate": Steady(0.1)}, {"rate": Steady(0.2)}, "optimizer"),
        ({"x": Rows(5)}, {"x": Rows(4)}, "x"),
        ({"validation_data": Rows(5)}, {"validation_data": Rows(4)}, "valid"),
    ],
)
def test_what_has_the_same_name_is_told_apart(tmp_path, first, other, part):
    stop(tmp_path, **first)
    with pytest.raises(ValueError, match=f"its {part}.* differ"):
        fit(tmp_path, **other)
    assert fit(tmp_path, **first).epoch == [0, 1]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ({"loss": make_loss(2)}, {"loss": make_loss(4)}),
        ({"loss": Power(2)}, {"loss": Power(2, step=-1)}),  # of names
        ({}, {"callbacks": [keras.callbacks.TerminateOnNaN()]}),
    ],
)
def test_code_order_and_callbacks_may_change(tmp_path, first, other):
    stop(tmp_path, **first)
    assert fit(tmp_path, **other).epoch == [0, 1]


def test_what_training_changes_is_not_part_of_it(tmp_path):
    """One optimizer and one callback go on, in a program that goes on."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse", **EAGER)
    lower = keras.callbacks.ReduceLROnPlateau(
        "loss", min_delta=9.0, patience=1, factor=0.5
    )
    options = {"epochs": 4, "verbose": 0, "shuffle": False}
    kill = Interrupt("on_epoch_begin", 3)
    with pytest.raises(Interruption):
        resumable_fit(model, tmp_path, X, Y, callbacks=[lower, kill], **options)
    assert float(model.optimizer.learning_rate) < 0.5
    fitted = resumable_fit(model, tmp_path, X, Y, callbacks=[lower], **options)
    assert fitted.epoch == [0, 1, 2, 3]


@pytest.mark.tensorflow
def test_datasets_are_compared_by_what_they_say(tmp_path):
    import tensorflow as tf

    def data(rows):
        whole = tf.data.Dataset.from_tensor_slices((X[:rows], Y[:rows]))
        return {"x": whole.batch(8), "y": None, "batch_size": None}

    stop(tmp_path, **data(40))
    with pytest.raises(ValueError, match="its x differ"):
        fit(tmp_path, **data(32))
    assert fit(tmp_path, **data(40)).epoch == [0, 1]
