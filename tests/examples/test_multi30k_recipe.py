"""multi30k_recipe.py: every part of the recipe is one that the model has."""

from dataclasses import replace

import keras
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


@pytest.mark.slow
def test_the_averaged_weights_of_the_best_epoch_are_left(tmp_path):
    keras.utils.set_random_seed(0)
    model = build(SMALL, 20)
    model.build(((None, None), (None, None)))
    first = [np.array(x) for x in model.get_weights()]
    grades = Grades()
    history = train(model, SMALL, Pairs(), Pairs(), grades, tmp_path)
    assert history.history["val_bleu"] == [0.0, -1.0]
    assert (tmp_path / "curves.csv").read_text().count("\n") == 3
    assert not [*(tmp_path / "state").glob("*.state")]
    other = build(SMALL, 20)
    other.build(((None, None), (None, None)))
    other.load_weights(tmp_path / "model.weights.h5")
    for x, best, begun in zip(
        other.get_weights(), grades.seen[0], first, strict=True
    ):
        np.testing.assert_array_equal(x, best)
        # Two steps move averaged weights by less than one step of Adam.
        assert np.abs(best - begun).max() < 0.2 * SMALL.rate
    moved = zip(grades.seen[0], first, strict=True)
    assert any(np.abs(x - y).max() > 0 for x, y in moved)
