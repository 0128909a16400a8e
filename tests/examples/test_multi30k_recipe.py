"""multi30k_recipe.py: its models, and trainings that go on."""

import functools
from dataclasses import replace

import keras
import multi30k_recipe as example
import numpy as np
import pytest
from multi30k_recipe import SCORES
from multi30k_recipe import Recipe
from multi30k_recipe import build
from multi30k_recipe import claim
from multi30k_recipe import train

SMALL = replace(Recipe(), units=8, epochs=2, batch_size=2, warmup=2, heads=2)
IDS = np.random.default_rng(0).integers(4, 20, (4, 6)).astype("int32")


class Pairs(keras.utils.PyDataset):
    """Two batches of the same ids."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        ids = IDS[2 * index : 2 * index + 2]
        return (ids, ids[:, :-1]), ids[:, 1:]


class Grades(keras.callbacks.Callback):
    """Stands for `ValidationBleu`: the first epoch is the best."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        weights = self.model.get_weights()
        self.seen.append([np.array(x) for x in weights])
        logs["val_bleu"] = -float(epoch)


@pytest.mark.parametrize("attention", SCORES)
def test_every_attention_can_be_built(attention):
    model = build(replace(SMALL, attention=attention, heads=1), 20)
    model.build(((None, None), (None, None)))
    tied = attention != "none"
    assert (model.source_embedding is model.target_embedding) == tied
    assert (model.output_layer is None) == tied


def test_the_folder_of_another_training_is_refused(tmp_path):
    claim(tmp_path / "new", {"seed": 1})
    claim(tmp_path / "new", {"seed": 1})
    with pytest.raises(SystemExit, match="other arguments"):
        claim(tmp_path / "new", {"seed": 2})


class Killed(BaseException):
    """What ends a training in the middle of an epoch."""


class KillOnce(keras.callbacks.Callback):
    """Kills in the second epoch, after its first batch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == 1:
            raise Killed


@pytest.fixture
def eager(monkeypatch):
    """Train without compiling, which takes longer than these few steps."""
    compiled = functools.partialmethod(keras.Model.compile, run_eagerly=True)
    monkeypatch.setattr(example.Seq2Seq, "compile", compiled, raising=False)
    often = functools.partial(example.ResumeTraining, save_freq=1)
    monkeypatch.setattr(
        example, "ResumeTraining", lambda folder, save_freq: often(folder)
    )


def fit(folder, *others):
    """Train two epochs; return the model before and after, and grades."""
    keras.utils.set_random_seed(0)
    model = build(SMALL, 20)
    model.build(((None, None), (None, None)))
    first, grades = read(model), Grades()
    train(model, SMALL, Pairs(), Pairs(), grades, folder, *others)
    return first, read(model), grades


def read(model):
    return [np.array(x) for x in model.get_weights()]


@pytest.mark.slow
def test_the_averaged_weights_of_the_best_epoch_are_left(tmp_path, eager):
    first, last, grades = fit(tmp_path)
    assert (tmp_path / "curves.csv").read_text().count("\n") == 3
    assert not [*(tmp_path / "state").glob("*.state")]
    other = build(SMALL, 20)
    other.build(((None, None), (None, None)))
    other.load_weights(tmp_path / "model.weights.h5")
    for x, y, best, begun in zip(
        read(other), last, grades.seen[0], first, strict=True
    ):
        np.testing.assert_array_equal(x, best)
        np.testing.assert_array_equal(y, best)
        # Two steps move averaged weights by less than one step of Adam.
        assert np.abs(best - begun).max() < 0.2 * SMALL.rate
    moved = zip(grades.seen[0], first, strict=True)
    assert any(np.abs(x - y).max() > 0 for x, y in moved)


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on_as_it_was(tmp_path, eager):
    _, whole, _ = fit(tmp_path / "whole")
    with pytest.raises(Killed):
        fit(tmp_path / "killed", KillOnce())
    _, found, _ = fit(tmp_path / "killed")
    for x, y in zip(found, whole, strict=True):
        np.testing.assert_array_equal(x, y)
    curves = [
        (tmp_path / name / "curves.csv").read_text()
        for name in ("whole", "killed")
    ]
    assert curves[0] == curves[1]
