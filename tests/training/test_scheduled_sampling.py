"""ScheduledSampling: the right number before every step, and none twice."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import InverseSigmoidSchedule
from keras_attention import ScheduledSampling

LINEAR = keras.optimizers.schedules.PolynomialDecay(1.0, 10, 0.0)


class Echo(keras.Model):
    """A model whose output is its `sampling_probability`."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.sampling_probability = self.add_weight(
            name="sampling_probability", initializer="zeros", trainable=False
        )

    def call(self, inputs):
        return 0 * self.dense(inputs) + self.sampling_probability


def echo():
    model = Echo()
    model.compile("sgd", loss=lambda _, y_pred: ops.mean(y_pred, axis=-1))
    return model


def fit(model, schedule, batches=3, **kwargs):
    """The history of a training, whose loss is the mean probability."""
    data = np.ones((2 * batches, 1)), np.ones((2 * batches, 1))
    options = {"batch_size": 2, "verbose": 0, **kwargs}
    callback = ScheduledSampling(schedule)
    return model.fit(*data, callbacks=[callback], **options).history


def test_every_step_has_its_own_probability_and_the_last_is_logged():
    model = echo()
    history = fit(model, LINEAR, epochs=2)
    assert history["loss"] == pytest.approx([0.1, 0.4])  # 0 .1 .2, .3 .4 .5
    assert history["sampling_probability"] == pytest.approx([0.2, 0.5])
    assert float(model.sampling_probability) == pytest.approx(0.5)


class Restore(keras.callbacks.Callback):
    """What `BackupAndRestore` does after an interruption in step 3."""

    def on_train_begin(self, logs=None):
        self.model.optimizer.iterations.assign(3)


def test_an_interrupted_fit_goes_on():
    model, data = echo(), np.ones((6, 1))
    callbacks = [ScheduledSampling(LINEAR), Restore()]
    history = model.fit(data, data, 2, callbacks=callbacks, verbose=0)
    assert history.history["loss"] == pytest.approx([0.4])


@pytest.mark.parametrize(
    "schedule", [0.5, None, "linear", [1.0, 0.5], InverseSigmoidSchedule]
)
def test_refuses_what_is_no_function_of_the_step(schedule):
    with pytest.raises(ValueError, match=r"`schedule` must.*Try Inverse"):
        ScheduledSampling(schedule)


@pytest.mark.tensorflow  # torch runs one at a time
def test_steps_count_when_several_run_at_once():
    model = Echo()
    model.compile(
        "sgd",
        loss=lambda _, y_pred: ops.mean(y_pred, axis=-1),
        steps_per_execution=2,
    )
    history = fit(model, LINEAR, batches=4, epochs=2)
    assert history["loss"] == pytest.approx([0.1, 0.5])  # 0 0 .2 .2, .4 .4 ...


@pytest.mark.parametrize("right", [-0.1, 1.1, float("nan")])
def test_refuses_what_is_no_probability(right):
    with pytest.raises(ValueError, match="`schedule` must return a prob"):
        fit(echo(), lambda _: right)


@pytest.mark.parametrize("attribute", [{}, {"sampling_probability": None}])
def test_says_which_model_it_needs(attribute):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    for name, value in attribute.items():
        setattr(model, name, value)
    with pytest.raises(ValueError, match=r"Seq2Seq\(scheduled_sampling=True"):
        fit(model, LINEAR)
