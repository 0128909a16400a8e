"""multi30k_recipe.py: its models, and what its trainings leave."""

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
from ready import EAGER

SMALL = replace(Recipe(), units=4, epochs=2, batch_size=2, warmup=2, heads=2)
IDS = np.random.default_rng(0).integers(4, 20, (4, 4)).astype("int32")


class Pairs(keras.utils.PyDataset):
    """Two batches of the same ids."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        ids = IDS[2 * index : 2 * index + 2]
        return (ids, ids[:, :-1]), ids[:, 1:]


class Grades(keras.callbacks.Callback):
    """Stands for `ValidationScores`: the first epoch is the best."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        weights = self.model.get_weights()
        self.seen.append([np.array(x) for x in weights])
        logs["val_bleu"] = -float(epoch)


@pytest.mark.parametrize("attention", SCORES)
def test_every_attention_can_be_built(attention):
    any_size = attention not in ("dot", "cosine")
    recipe = replace(SMALL, attention=attention, append_inputs=any_size)
    model = build(replace(recipe, heads=1), 20)
    model.build(((None, None), (None, None)))
    tied = attention != "none"
    assert (model.source_embedding is model.target_embedding) == tied
    assert (model.output_layer is None) == tied


def test_the_folder_of_another_training_is_refused(tmp_path):
    claim(tmp_path / "new", {"seed": 1})
    claim(tmp_path / "new", {"seed": 1})
    with pytest.raises(SystemExit, match="other arguments"):
        claim(tmp_path / "new", {"seed": 2})


def read(model):
    return [np.array(x) for x in model.get_weights()]


@pytest.mark.slow
def test_the_averaged_weights_of_the_best_epoch_are_left(tmp_path, monkeypatch):
    """Few steps are faster without a graph."""
    compiled = functools.partialmethod(keras.Model.compile, **EAGER)
    monkeypatch.setattr(example.Seq2Seq, "compile", compiled, raising=False)
    claim(tmp_path, {})
    keras.utils.set_random_seed(0)
    model, other = build(SMALL, 20), build(SMALL, 20)
    for x in (model, other):
        x.build(((None, None), (None, None)))
    first, grades = read(model), Grades()
    train(model, SMALL, Pairs(), Pairs(), grades, tmp_path)
    assert (tmp_path / "curves.csv").read_text().count("\n") == 3
    assert not [*(tmp_path / "state").glob("*.state")]
    other.load_weights(tmp_path / "model.weights.h5")
    moved = []
    for x, y, best, begun in zip(
        read(other), read(model), grades.seen[0], first, strict=True
    ):
        np.testing.assert_array_equal(x, best)
        np.testing.assert_array_equal(y, best)
        moved.append(np.abs(best - begun).max())
    # Two steps move averaged weights by less than one step of Adam.
    assert 0 < max(moved) < 0.2 * SMALL.rate
