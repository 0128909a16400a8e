"""Fine-tuning: what is kept of a translator, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from ready import without_graphs
from samples import to_numpy

from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention.recipe import NOTE
from keras_attention.recipe import Recipe
from keras_attention.recipe import fixed_options
from keras_attention.recipe import make_model
from keras_attention.recipe import make_tokenizers
from keras_attention.recipe import train_translator

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{x}")
    for x in (
        "pairs occur more than once",
        "are also in the training set",
        "in every epoch",
    )
]
RECIPE = Recipe(target_tokenizer="symbol", units=8, epochs=1, batch_size=4)
OLD = ["ab", "ba", "bb"], ["a b", "b a", "b b"]


@pytest.fixture(scope="module", autouse=True)
def eager():
    with without_graphs():
        yield


@pytest.fixture
def start(tmp_path):
    """A saved translator with random weights."""
    return save(tmp_path / "start", RECIPE)


@pytest.fixture
def files(tmp_path):
    """Pairs with a new letter and a new sound, under a header."""
    file = tmp_path / "new.tsv"
    file.write_text("word\tsounds\n" + "ac\tC a\nca\tC a\nab\ta b\n" * 3)
    return [file]


def save(folder, recipe, sources=OLD[0]):
    tokenizers = make_tokenizers(sources, OLD[1], recipe)
    model = make_model(recipe, *(x.vocabulary_size for x in tokenizers))
    Translator(model, *tokenizers, GreedySearch(max_length=4)).save(folder)
    (folder / NOTE).write_text(recipe.to_toml())
    return folder


@pytest.mark.slow
def test_it_begins_with_the_weights_of_the_old(start, files, tmp_path):
    """With a rate of almost 0, nothing is learned from 9 pairs."""
    given, said = replace(RECIPE, rate=1e-9, header=True), []
    out, old = tmp_path / "out", Translator.load(start)
    found = train_translator(
        files, files, out, given, (), said.append, init=start
    )
    assert "New vocabulary: 1 source and 1 target tokens" in said
    assert found.source_tokenizer.vocabulary == ["b", "a", "c"]
    assert found.target_tokenizer.vocabulary == ["b", "a", "C"]
    wanted = old.extended((["c"], ["C"])).model.weights
    for x, y in zip(found.model.weights, wanted, strict=True):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=1e-6)
    said.clear()  # it has been trained
    train_translator(files, files, out, given, (), said.append, init=start)
    assert said == [f"{out} is already trained with these files and options"]
    other = save(tmp_path / "other", replace(RECIPE, units=8))
    with pytest.raises(ValueError, match="`folder` already contains"):
        train_translator(files, files, out, given, init=other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("units", 9),
        ("layers", 2),
        ("attention", "general"),
        ("order", "bahdanau"),
        ("dropout", 0.1),
        ("target_tokenizer", "character"),
        ("normalization", "nfd"),
        ("lowercase", True),
        ("features", 2),
    ],
)
def test_what_cannot_differ_is_refused_by_name(
    start, files, tmp_path, name, value
):
    other = replace(RECIPE, **{name: value})
    files[0].write_text("ac\tC a\tX\n")
    with pytest.raises(ValueError, match=rf"`{name}` must .* {name}={value!r}"):
        train_translator(files, files, tmp_path / "o", other, init=start)


def test_options_are_those_of_the_old_recipe(start, files, tmp_path):
    """Also of a folder without a recipe: they are the defaults."""
    found = fixed_options(start)
    assert found["target_tokenizer"] == "symbol"
    assert found["units"] == 8
    assert "epochs" not in found
    assert "columns" not in found
    (start / NOTE).write_text("units = ")
    with pytest.raises(ValueError, match=NOTE):
        fixed_options(start)
    (start / NOTE).unlink()
    assert fixed_options(start)["units"] == Recipe().units
    with pytest.raises(
        ValueError, match=r"`target_tokenizer` must be 'character'"
    ):
        train_translator(files, files, tmp_path / "o", RECIPE, init=start)


def test_an_ensemble_is_not_fine_tuned(start, files, tmp_path):
    old = Translator.load(start)
    both = old.with_parts(model=Ensemble([old.model, old.model]))
    both.save(tmp_path / "both")
    with pytest.raises(ValueError, match=r"both, with Ensemble.*seed_0"):
        train_translator(
            files, files, tmp_path / "o", RECIPE, init=tmp_path / "both"
        )


def test_tags_and_letters_can_be_new(tmp_path, files):
    recipe = replace(RECIPE, features=2)
    start = save(tmp_path / "tagged", recipe, ["ab\tX", "ba\tX", "bb\tY"])
    files[0].write_text("ab\ta\tZ\nac\ta\tX\n")
    found = train_translator(files, files, tmp_path / "o", recipe, init=start)
    assert found.source_tokenizer.vocabulary == [*"baXYcZ"]
    assert found.model.source_vocabulary_size == 10
