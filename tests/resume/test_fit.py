"""resumable_fit: a run that is interrupted anywhere is the same run."""

import collections
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import warnings

import interrupted
import keras
import numpy as np
import pytest
from interrupted import Interrupt
from interrupted import Interruption
from interrupted import differences
from tiers import some

from keras_attention import resumable_fit
from keras_attention.resume.file import read_state

# Moments, epochs and batches. A state is written after every third batch.
PLACES = [
    ("on_train_batch_begin", 0, 1),  # before there is any but the first
    ("on_train_batch_end", 0, 3),
    ("on_test_batch_end", 0, 0),
    ("on_epoch_end", 0),
    ("on_epoch_begin", 1),
    ("writing", 1),
    ("on_train_batch_end", 2, 1),
    ("on_train_batch_end", 2, 1),  # twice in a row
    ("writing", 2),
    ("on_test_begin", 2),
    ("on_train_batch_begin", 3, 0),
    ("on_train_end", 3),
]
COMPILED = {"make": interrupted.make_compiled}


@pytest.fixture
def folder(tmp_path):
    interrupted.write_text(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    interrupted.write_text(folder)
    return interrupted.train(folder, **COMPILED)


def whole(folder, **options):
    """What a run leaves that nothing has interrupted, elsewhere."""
    other = folder / "whole"
    other.mkdir()
    interrupted.write_text(other)
    result = interrupted.train(other, **options)
    shutil.rmtree(other)
    return result


def interrupt(folder, place, save_freq="epoch", **options):
    with pytest.raises(Interruption):
        interrupted.train(folder, Interrupt(*place), save_freq, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "save_freq"),
    some(
        [
            (("on_train_batch_end", 1, 3), 3),
            (("on_epoch_begin", 2), "epoch"),
        ],
        1,
    ),
)
def test_goes_on_as_if_nothing_had_been(
    folder, uninterrupted, place, save_freq
):
    interrupt(folder, place, save_freq, **COMPILED)
    result = interrupted.train(folder, None, save_freq, **COMPILED)
    assert not differences(result, uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "places", some([PLACES[1::4], PLACES], 1), ids=["some", "all"]
)
def test_kills_anywhere_change_nothing(
    folder, tmp_path_factory, monkeypatch, places
):
    # All processes are forked from one that has imported the modules once.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    other = tmp_path_factory.mktemp("other")
    interrupted.write_text(other)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["interrupted"])

    def run(*arguments):
        process = context.Process(target=interrupted.run, args=arguments)
        process.start()
        process.join()
        return process.exitcode

    assert run(other, None, 3) == 0
    for place in places:
        assert run(folder, place, 3) == -signal.SIGKILL, place
    assert run(folder, None, 3) == 0
    result, expected = (read_state(x / "results") for x in (folder, other))
    assert not differences(result, expected)
    assert len(expected) > 10


@pytest.mark.slow
def test_a_model_without_weights_goes_on_at_an_epoch(folder):
    """It makes them in a step that is undone; the next part goes on too."""
    expected = whole(folder)
    interrupt(folder, ("on_epoch_begin", 1))
    interrupt(folder, ("on_train_batch_end", 2, 2), 2)
    assert not differences(interrupted.train(folder, None, 2), expected)


@pytest.mark.slow
def test_the_first_epoch_may_be_a_later_one(folder):
    late = {"fit": {"initial_epoch": 2}}
    expected = whole(folder, **late)
    assert expected["epochs"] == [2, 3]
    interrupt(folder, ("on_train_batch_end", 3, 1), 1, **late)
    result = interrupted.train(folder, None, 1, **late)
    assert not differences(result, expected)


@pytest.mark.slow
def test_epochs_that_go_on_in_the_data(folder):
    often = {"repeat": True, "fit": {"validation_freq": 2}}
    expected = whole(folder, **often)
    interrupt(folder, ("on_train_batch_end", 2, 1), 2, **often)
    interrupt(folder, ("on_epoch_begin", 3), "epoch", **often)
    assert not differences(interrupted.train(folder, **often), expected)


@pytest.mark.slow
def test_the_seed_of_a_run_is_kept(folder):
    """Without `seed`, the dataset goes on in the order that it has drawn."""
    places = []
    for epoch in (2, 3):
        interrupt(folder, ("on_epoch_begin", epoch), seed=None)
        state = read_state(folder / "state" / "training.state")
        places.append(state["positions"][-1])
    assert places[0]["seed"] == places[1]["seed"]
    assert places[1]["epoch"] > places[0]["epoch"] >= 2


@pytest.mark.slow
def test_early_stopping_does_not_start_again(folder):
    expected = whole(folder, patience=1)
    assert expected["epochs"] == [0, 1]
    interrupt(folder, ("on_train_end", 1), patience=1)
    assert not differences(interrupted.train(folder, patience=1), expected)


@pytest.mark.thorough
def test_the_progress_bar_goes_on(folder, capsys):
    interrupt(folder, ("on_train_batch_begin", 2, 2), 1)
    interrupted.train(folder, None, 1, fit={"verbose": 1})
    shown = capsys.readouterr().out
    assert "Epoch 3/4" in shown
    assert "Epoch 2/4" not in shown
    assert "4/4" in shown


@pytest.mark.slow
def test_other_text_and_models_are_refused(folder):
    interrupt(folder, ("on_epoch_begin", 1))
    for options, part in (
        ({"make": interrupted.make_larger}, "variables of its model differ"),
        ({"seed": 8}, "its x differ"),
    ):
        with pytest.raises(ValueError, match=part) as error:
            interrupted.train(folder, **options)
        assert str(folder / "state" / "training.state") in str(error.value)
    text = (folder / "source.txt").read_text()
    (folder / "source.txt").write_text(text.translate({48: "1", 49: "0"}))
    with pytest.raises(ValueError, match="its x differ"):  # of equal lengths
        interrupted.train(folder)
    (folder / "source.txt").write_text(text)
    assert interrupted.train(folder)["epochs"] == [0, 1, 2, 3]


# A call with arrays.

IDS = np.random.default_rng(0).integers(4, 9, (13, 5))


def fit(folder, *callbacks, model=None, **options):
    keras.utils.set_random_seed(1)
    model = model or interrupted.make_tiny()
    options = {"batch_size": 4, "epochs": 3, "verbose": 0, **options}
    options = {"callbacks": [*callbacks], **options}
    state = folder / "state"
    return resumable_fit(model, state, (IDS, IDS), IDS[:, ::-1], **options)


def left(fitted):
    """The weights and the history of a training."""
    weights = enumerate(fitted.model.get_weights())
    return {"history": fitted.history, **{str(k): v for k, v in weights}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", some([["on_train_batch_end", 1, 1], ["on_epoch_begin", 2]], 1)
)
def test_arrays_are_shuffled_as_they_would_have_been(folder, place):
    expected = left(fit(folder / "whole"))
    with pytest.raises(Interruption):
        fit(folder, Interrupt(*place), save_freq=1)
    assert not differences(left(fit(folder, save_freq=1)), expected)


@pytest.mark.slow
def test_keras_fit_trains_the_same(folder):
    fitted = fit(folder)
    keras.utils.set_random_seed(1)
    model = interrupted.make_tiny()
    options = {"batch_size": 4, "epochs": 3, "verbose": 0}
    plain = model.fit((IDS, IDS), IDS[:, ::-1], **options)
    assert not differences(left(plain), left(fitted))
    assert model.history.epoch == fitted.epoch == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_arrays_without_a_seed_warn(folder):
    def fit_unseeded(*callbacks):
        model = interrupted.make_tiny()
        sys.modules["tensorflow"].random.set_seed(None)
        data = (IDS, IDS), IDS
        resumable_fit(
            model,
            folder / "state",
            *data,
            verbose=0,
            epochs=2,
            callbacks=[*callbacks],
        )

    keras.utils.set_random_seed(1)
    with pytest.raises(Interruption):
        fit_unseeded(Interrupt("on_epoch_begin", 1))
    with pytest.warns(UserWarning, match="set_random_seed"):
        fit_unseeded()


@pytest.mark.slow
def test_fewer_epochs_keep_the_state(folder):
    with pytest.raises(Interruption):
        fit(folder, Interrupt("on_train_batch_end", 1, 2), save_freq=2)
    for epochs in (0, 1):
        with pytest.raises(ValueError, match=f"epochs={epochs} are fewer"):
            fit(folder, epochs=epochs, save_freq=2)
    assert fit(folder, epochs=2).epoch == [0, 1]
    assert not (folder / "state").exists()


@pytest.mark.slow
def test_what_has_not_begun_binds_nobody(folder):
    with pytest.raises(Interruption):
        fit(folder, Interrupt("on_train_batch_begin", 0, 0))
    assert fit(folder, batch_size=3, epochs=1).epoch == [0]


@pytest.mark.slow
def test_data_that_ends_early_is_an_error(folder):
    """A generator says nothing of its length."""

    def batches(count):
        for _ in range(count):
            yield (IDS, IDS), IDS

    def fit_generator(count, *callbacks):
        model = interrupted.make_tiny()
        options = {"callbacks": [*callbacks], "verbose": 0, "save_freq": 1}
        resumable_fit(model, folder / "state", batches(count), **options)

    with pytest.raises(Interruption):
        fit_generator(4, Interrupt("on_train_batch_begin", 0, 3))
    with pytest.raises(ValueError, match="ends before the saved batch"):
        fit_generator(2)
    fit_generator(4)


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dropout = keras.layers.Dropout(0.2)
        self.dense = keras.layers.Dense(1)

    def call(self, x, training=None):
        return self.dense(self.dropout(x, training=training))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "save_freq"),
    [(["on_train_batch_end", 0, 4], 2), (["on_epoch_begin", 1], "epoch")],
)
def test_a_model_that_only_says_that_it_is_built_goes_on(
    tmp_path, place, save_freq
):
    def train(name, *callbacks):
        keras.utils.set_random_seed(7)
        model = Net()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras: there are no weights
            model.build((None, 6))
        model.compile("adam", "mse", **interrupted.EAGER)
        x = np.random.default_rng(0).normal(size=(130, 6))  # 5 batches
        options = {"epochs": 2, "verbose": 0, "save_freq": save_freq}
        return resumable_fit(
            model, tmp_path / name, x, x, callbacks=[*callbacks], **options
        )

    expected = left(train("whole"))
    with pytest.raises(Interruption):
        train("killed", Interrupt(*place))
    assert not differences(left(train("killed")), expected)


# When states are written, and who hears of what before.


class Watch(keras.callbacks.Callback):
    """Notes which state is there, at each moment."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.heard = []

    def note(self, moment):
        state = read_state(self.file)
        place = state["begun"], state["epoch"], state["batch"]
        self.heard = [*self.heard, (moment, *place)]

    def on_train_batch_begin(self, batch, logs=None):
        self.note(f"begin {batch}")

    def on_epoch_end(self, epoch, logs=None):
        self.note(f"end {epoch}")

    def on_train_end(self, logs=None):
        self.note("all")


@pytest.mark.slow
def test_all_have_heard_of_what_is_written(folder):
    """Before batch 1 nobody has heard of it; after an epoch all have."""
    watches = [Watch(folder / "state/training.state") for _ in range(2)]
    fit(folder, *watches, save_freq=3, epochs=2)
    for watch in watches:
        assert watch.heard == [
            *((f"begin {i}", False, 0, 0) for i in range(3)),
            ("begin 3", True, 0, 3),
            ("end 0", True, 0, 3),
            *((f"begin {i}", True, 0, 3) for i in range(2)),
            *((f"begin {i}", True, 1, 2) for i in (2, 3)),
            ("end 1", True, 1, 2),
            ("all", True, 1, 2),
        ]


@pytest.mark.slow
def test_others_hear_of_a_batch_once(folder):
    with pytest.raises(Interruption):
        fit(folder, Interrupt("on_train_batch_begin", 0, 2), save_freq=1)
    watch = Watch(folder / "state/training.state")
    fit(folder, watch, save_freq=1, epochs=1)
    moments = [x[0] for x in watch.heard]
    assert moments == ["begin 2", "begin 3", "end 0", "all"]


class Forgetful(keras.callbacks.Callback):
    """Keeps what can be kept, and what cannot."""

    def __init__(self):
        super().__init__()
        self.lock, self.window = threading.Lock(), collections.deque()
        self.seen, self.limit = [], 3

    def on_epoch_end(self, epoch, logs=None):
        self.window.append(epoch)
        self.seen.append(epoch)


@pytest.mark.slow
def test_warns_once_of_what_a_callback_would_forget(folder):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        with pytest.raises(Interruption):
            fit(folder, Forgetful(), Interrupt("on_epoch_begin", 2))
    (message,) = [x.message for x in said if "cannot save" in str(x.message)]
    assert "Forgetful.window: a" in str(message)
    again, other = Forgetful(), Forgetful()
    again.limit = 4  # not changed by training: what the user gives now
    with pytest.warns(UserWarning, match="cannot save"):
        fit(folder, again, other)
    assert (again.seen, again.limit, other.seen) == ([0, 1, 2], 4, [2])


@pytest.mark.slow
def test_logs_that_append_have_each_row_once(folder):
    def log(name):
        return keras.callbacks.CSVLogger(folder / f"{name}.csv", append=True)

    fit(folder / "whole", log("whole"))
    logger = log("killed")
    with pytest.raises(Interruption):
        fit(folder, logger, Interrupt("on_train_batch_end", 2, 1))
    logger.csv_file.close()
    fit(folder, log("killed"))
    texts = [(folder / f"{x}.csv").read_bytes() for x in ("whole", "killed")]
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 4


# What is refused at once.


@pytest.mark.parametrize(
    "options",
    [
        {"folder": ""},
        {"folder": __file__},
        {"save_freq": 0},
        {"save_freq": "x"},
    ],
)
def test_wrong_values_are_errors(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}` must.*Received: {name}="):
        resumable_fit(keras.Model(), **{"folder": "state", **options})


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="asks JAX")
def test_several_processes_are_an_error(monkeypatch):
    monkeypatch.setattr(sys.modules["jax"], "process_count", lambda: 2)
    with pytest.raises(ValueError, match=r"process_count\(\)=2.*process 0"):
        resumable_fit(keras.Model(), "state")


@pytest.mark.parametrize("make", [keras.Sequential, lambda: keras.Model, int])
def test_a_model_that_is_not_compiled_is_named(make, folder):
    with pytest.raises(ValueError, match="must be a compiled model"):
        resumable_fit(make(), folder, [[1.0]], [[1.0]])


def test_a_folder_is_of_one_call(folder):
    with pytest.raises(Interruption):
        fit(folder, Interrupt("on_epoch_begin", 1))
    fitted = fit(folder)
    with pytest.raises(ValueError, match="another folder"):
        fit(folder)
    assert fit(folder / "other", model=fitted.model).epoch == [0, 1, 2]
