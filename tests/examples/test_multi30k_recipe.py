"""helpers/multi30k_recipe.py: its models, and what its trainings leave."""

from dataclasses import replace

import pytest
from helpers.multi30k_recipe import SCORES
from helpers.multi30k_recipe import Recipe
from helpers.multi30k_recipe import build
from helpers.multi30k_recipe import claim

SMALL = replace(Recipe(), units=4, epochs=2, batch_size=2, warmup=2, heads=2)


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
