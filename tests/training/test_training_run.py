"""TrainingRun: when it writes, and who hears of what before."""

import warnings

import interrupted
import keras
import numpy as np
import pytest
from interrupted import Interruption
from tiers import some

from keras_attention import ResumeTraining
from keras_attention.training import training_run
from keras_attention.training.resume_file import read_state

IDS = np.random.default_rng(0).integers(4, 9, (8, 3))


def fit(folder, save_freq="epoch", callbacks=(), **options):
    keras.utils.set_random_seed(1)
    if isinstance(callbacks, list | tuple):
        resume = ResumeTraining(folder / "state", save_freq)
        callbacks = [*callbacks[:1], resume, *callbacks[1:]]
    options = {"epochs": 2, "shuffle": False, "verbose": 0, **options}
    model = interrupted.make_tiny()
    options = {"batch_size": 2, "callbacks": callbacks, **options}
    return model.fit((IDS, IDS), IDS, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("save_freq", "expected"),
    some(
        [
            (3, [(None, 0), (0, 3), (1, 2)]),
            ("epoch", [(None, 0), (1, 0), (2, 0)]),
            (4, [(None, 0), (1, 0), (2, 0)]),
        ],
        1,
    ),
)
def test_writes_as_often_as_it_should(
    tmp_path, monkeypatch, save_freq, expected
):
    written = []
    monkeypatch.setattr(
        training_run, "write_state", lambda _, state: written.append(state)
    )
    fit(tmp_path, save_freq)
    assert [(x["epoch"], x["done"]) for x in written] == expected


class Watch(keras.callbacks.Callback):
    """Notes whether the state is there, at each moment."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.heard = []

    def note(self, moment):
        state = read_state(self.file) or {}
        place = state.get("epoch"), state.get("done")
        self.heard.append((moment, *place))

    def on_train_batch_begin(self, batch, logs=None):
        self.note(f"begin {batch}")

    def on_epoch_end(self, epoch, logs=None):
        self.note(f"end {epoch}")

    def on_train_end(self, logs=None):
        self.note("all")


@pytest.mark.slow
def test_all_have_heard_of_what_is_written(tmp_path):
    """Before batch 1 nobody has heard of it; after an epoch all have."""
    watches = [Watch(tmp_path / "state/training.state") for _ in range(2)]
    fit(tmp_path, 1, watches, epochs=1)
    for watch in watches:
        assert watch.heard[:2] == [("begin 0", None, 0), ("begin 1", 0, 1)]
        assert watch.heard[-2:] == [("end 0", 0, 3), ("all", 1, 0)]


@pytest.mark.slow
def test_others_hear_of_a_batch_once(tmp_path):
    """Those that are passed by are the progress bar's alone."""
    stop = interrupted.Interrupt("on_train_batch_begin", 0, 2)
    with pytest.raises(Interruption):
        fit(tmp_path, 1, [stop])
    watches = [Watch(tmp_path / "state/training.state") for _ in range(2)]
    fit(tmp_path, 1, watches, epochs=1)
    for watch in watches:
        moments = [x[0] for x in watch.heard]
        assert moments == ["begin 2", "begin 3", "end 0", "all"]


@pytest.mark.slow
def test_goes_on_alone_and_without_a_list(tmp_path):
    """Keras lets such a callback hear of batches in other threads."""
    expected = fit(tmp_path / "a", 1).history
    stop = interrupted.Interrupt("on_train_batch_begin", 1, 2)
    with pytest.raises(Interruption):
        fit(tmp_path, 1, [stop])
    resume = ResumeTraining(tmp_path / "state", 1)
    assert fit(tmp_path, callbacks=resume).history == expected


class Forgetful(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.last = object()


@pytest.mark.slow
def test_warns_of_a_callback_once(tmp_path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        fit(tmp_path, 4, [Forgetful()])
    (message,) = [x.message for x in said if "cannot keep" in str(x.message)]
    assert "Forgetful.last" in str(message)
