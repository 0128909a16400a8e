"""ResumeTraining: a run that is interrupted anywhere is the same run."""

import multiprocessing
import os
import shutil
import signal
import sys

import interrupted
import keras
import numpy as np
import pytest
from interrupted import Interrupt
from interrupted import Interruption
from interrupted import differences
from tiers import some

from keras_attention import ResumeTraining
from keras_attention.training.counted_steps import CountedSteps
from keras_attention.training.resume_file import read_state

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


@pytest.fixture
def folder(tmp_path):
    interrupted.write_text(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    interrupted.write_text(folder)
    return interrupted.train(folder, make=interrupted.make_compiled)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder with the state after the first epoch."""
    folder = tmp_path_factory.mktemp("stopped")
    interrupted.write_text(folder)
    interrupt(folder, ("on_epoch_begin", 1))
    return folder


@pytest.fixture
def begun(stopped, tmp_path):
    """A copy of it."""
    return shutil.copytree(stopped, tmp_path / "begun")


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
    compiled = {"make": interrupted.make_compiled}
    interrupt(folder, place, save_freq, **compiled)
    result = interrupted.train(folder, None, save_freq, **compiled)
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


@pytest.mark.thorough
def test_goes_on_with_words_of_its_own(folder, tmp_path_factory):
    """A `Seq2Seq` with dropout and scheduled sampling, inside an epoch."""
    other = tmp_path_factory.mktemp("other")
    interrupted.write_text(other)
    options = {"make": interrupted.make_model}
    expected = interrupted.train(other, **options)
    interrupt(folder, ("on_train_batch_end", 2, 2), 1, **options)
    result = interrupted.train(folder, None, 1, **options)
    assert not differences(result, expected)


@pytest.mark.slow
def test_the_first_epoch_may_be_a_later_one(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    interrupted.write_text(other)
    late = {"fit": {"initial_epoch": 2}}
    expected = interrupted.train(other, **late)
    assert expected["epochs"] == [2, 3]
    interrupt(folder, ("on_train_batch_end", 3, 1), 1, **late)
    result = interrupted.train(folder, None, 1, **late)
    assert not differences(result, expected)


@pytest.mark.slow
def test_epochs_that_go_on_in_the_data(folder, tmp_path_factory):
    if keras.backend.backend() == "torch":
        with pytest.raises(ValueError, match="steps_per_epoch=3"):
            interrupted.train(folder, repeat=True)
        return
    other = tmp_path_factory.mktemp("other")
    interrupted.write_text(other)
    expected = interrupted.train(other, repeat=True)
    interrupt(folder, ("on_train_batch_end", 2, 1), 2, repeat=True)
    interrupt(folder, ("on_epoch_begin", 3), "epoch", repeat=True)
    result = interrupted.train(folder, repeat=True)
    assert not differences(result, expected)


@pytest.mark.slow
def test_the_seed_of_a_run_is_kept(folder):
    """Without `seed`, the dataset goes on in the order that it has drawn."""
    interrupt(folder, ("on_epoch_begin", 2), seed=None)
    state = read_state(folder / "state" / "training.state")
    seen = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda *_: seen.append(interrupted.read_positions()[-1])
    )
    interrupted.train(folder, watch, seed=None)
    assert seen[0] == state["positions"][-1]
    assert seen[0]["epoch"] >= 2  # more, for validation and shapes


@pytest.mark.slow
def test_early_stopping_does_not_start_again(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    interrupted.write_text(other)
    expected = interrupted.train(other, patience=1)
    assert expected["epochs"] == [0, 1]
    interrupt(folder, ("on_train_end", 1), patience=1)
    assert not differences(interrupted.train(folder, patience=1), expected)


@pytest.mark.thorough
def test_a_finished_run_can_be_made_longer(folder, uninterrupted):
    compiled = {"make": interrupted.make_compiled}
    short = {"delete_checkpoint": False, "fit": {"epochs": 2}, **compiled}
    interrupted.train(folder, **short)
    again = interrupted.train(folder, **short)
    assert again["epochs"] == [0, 1]
    result = interrupted.train(folder, **compiled)
    assert not differences(result, uninterrupted)


@pytest.mark.slow
def test_another_fit_begins_at_its_beginning(begun):
    model = interrupted.make_tiny()
    result = interrupted.train(begun, make=lambda: model)
    assert result["epochs"] == [0, 1, 2, 3]
    assert not (begun / "state").exists()
    ids = np.array([[2, 5, 3]])
    again = model.fit((ids, ids), ids, epochs=2, verbose=0)
    assert again.epoch == [0, 1]
    assert not isinstance(model.train_function, CountedSteps)


@pytest.mark.thorough
def test_the_progress_bar_goes_on(folder, capsys):
    interrupt(folder, ("on_train_batch_begin", 2, 2), 1)
    interrupted.train(folder, None, 1, fit={"verbose": 1})
    shown = capsys.readouterr().out
    assert "Epoch 3/4" in shown
    assert "Epoch 2/4" not in shown
    assert "4/4" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"make": interrupted.make_larger}, "model"),
        ({"rate": 0.01}, "optimizer"),
        ({"patience": 3}, "EarlyStopping"),
        ({"seed": 8}, "data"),
        ({"fit": {"validation_freq": 2}}, "fit"),
    ],
)
def test_the_state_of_another_run_is_an_error(begun, options, part):
    with pytest.raises(ValueError, match=part) as error:
        interrupted.train(begun, **options)
    assert str(begun / "state" / "training.state") in str(error.value)


@pytest.mark.thorough
def test_what_has_not_begun_binds_nobody(folder):
    interrupt(folder, ("on_train_batch_begin", 0, 0))
    result = interrupted.train(folder, rate=0.01)
    assert result["epochs"] == [0, 1, 2, 3]


def test_a_damaged_state_is_an_error(begun):
    file = begun / "state" / "training.state"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"training\.state"):
        interrupted.train(begun)


@pytest.mark.parametrize(
    "options",
    [{"folder": ""}, {"save_freq": 0}, {"save_freq": "batch"}],
)
def test_wrong_values_are_errors(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"Received: {name}="):
        ResumeTraining(**{"folder": "state", **options})


def test_two_of_them_are_an_error(folder):
    model = interrupted.make_tiny()
    ids = np.array([[2, 5, 3]])
    two = [ResumeTraining(folder / name) for name in "ab"]
    with pytest.raises(ValueError, match="two"):
        model.fit((ids, ids), ids, callbacks=two, verbose=0)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="asks JAX")
def test_several_processes_are_an_error(monkeypatch):
    monkeypatch.setattr(sys.modules["jax"], "process_count", lambda: 2)
    with pytest.raises(ValueError, match=r"process_count\(\)=2.*process 0"):
        ResumeTraining("state").on_train_begin()


def fit_arrays(folder, interrupt=None, seed=1):
    keras.utils.set_random_seed(1)
    if seed is None and keras.backend.backend() == "tensorflow":
        sys.modules["tensorflow"].random.set_seed(None)
    ids = np.random.default_rng(0).integers(4, 9, (13, 5))
    model = interrupted.make_tiny()
    callbacks = [ResumeTraining(folder / "state", 1)]
    if interrupt is not None:
        callbacks.append(interrupt)
    model.fit(
        *((ids, ids), ids[:, ::-1]),
        **{"batch_size": 4, "epochs": 3, "verbose": 0, "callbacks": callbacks},
    )
    return {str(i): np.array(v) for i, v in enumerate(model.get_weights())}


@pytest.mark.slow
def test_arrays_are_shuffled_as_they_would_have_been(folder):
    expected = fit_arrays(folder)
    with pytest.raises(Interruption):
        fit_arrays(folder, Interrupt("on_train_batch_end", 1, 1))
    assert not differences(fit_arrays(folder), expected)


@pytest.mark.thorough
def test_arrays_without_a_seed_warn_on_tensorflow(folder, recwarn):
    with pytest.raises(Interruption):
        fit_arrays(folder, Interrupt("on_train_batch_end", 1, 1), seed=None)
    if keras.backend.backend() == "tensorflow":
        with pytest.warns(UserWarning, match="set_random_seed"):
            fit_arrays(folder, seed=None)
    else:
        fit_arrays(folder, seed=None)
    assert not [x for x in recwarn if "ResumeTraining" in str(x.message)]
