"""One call from pairs of texts to a folder that translates."""

import csv
import json
import random
import shutil
import sys
import tomllib
import warnings
from dataclasses import asdict

import keras
import numpy as np
import pytest
from ready import without_graphs

from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import TaggedTokenizer
from keras_attention import Translator
from keras_attention import ValidationScores
from keras_attention.recipe import ATTENTIONS
from keras_attention.recipe import CURVES
from keras_attention.recipe import NOTE
from keras_attention.recipe import Recipe
from keras_attention.recipe import make_model
from keras_attention.recipe import make_tokenizers
from keras_attention.recipe import read_texts
from keras_attention.recipe import train_translator
from keras_attention.recipe.training import BestEpoch

# Of tables with few letters.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{x}")
    for x in (
        "pairs occur more than once",
        "are also in the training set",
        "in every epoch",
    )
]
SMALL = {"units": 8, "epochs": 2, "batch_size": 8}


def write_table(folder, count=16, tagged=False):
    """Words, and the same words spelled; with a tag, perhaps backwards."""
    draw, lines = random.Random(count), []
    for _ in range(count):
        word = draw.choices("abc", k=draw.randint(2, 4))
        tags = draw.choice(["BACK;X", "X"])
        sounds = word[:: -1 if tagged and "BACK" in tags else 1]
        lines.append("\t".join(["".join(word), " ".join(sounds), tags]))
    file = folder / f"{count}.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [file]


@pytest.fixture(scope="module", autouse=True)
def eager():
    """A few steps take less time than a trace."""
    with without_graphs():
        yield


class Stop(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.stop = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.stop:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder that was trained without an interruption, and its files."""
    folder = tmp_path_factory.mktemp("recipe")
    files = write_table(folder), write_table(folder, 8)
    recipe = Recipe(target_tokenizer="symbol", **SMALL)
    translator = train_translator(*files, folder / "whole", recipe)
    return folder / "whole", files, recipe, translator


def rows(folder):
    with (folder / CURVES).open(newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.slow
def test_the_folder_is_a_translator_and_says_how_it_was_made(trained):
    folder, files, recipe, translator = trained
    loaded = Translator.load(folder)
    sources, _ = read_texts(files[1], recipe)
    assert loaded(sources) == translator(sources)
    assert isinstance(loaded.search, BeamSearch)
    search = loaded.search.beam_size, loaded.search.length_penalty
    assert search == (recipe.beam_size, 1.0)
    longest = max(
        loaded.target_tokenizer.count(read_texts(files[0], recipe)[1])
    )
    assert loaded.search.max_length == longest * 3 // 2
    text = (folder / NOTE).read_text(encoding="utf-8")
    found = tomllib.loads(text)
    assert Recipe(**{**found, "columns": tuple(found["columns"])}) == recipe
    found = rows(folder)
    assert len(found) == recipe.epochs
    assert {"loss", "val_loss", "val_accuracy", "seconds"} <= found[0].keys()
    for name in ("curves.png", "attention.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert not folder.with_name("whole.training").exists()
    report = (folder / "report.md").read_text(encoding="utf-8")
    sources, targets = read_texts(files[1], recipe)
    pairs = zip(translator(sources), targets, strict=True)
    right = 100 * np.mean([x == y for x, y in pairs])
    assert f"| accuracy | {right:.4g} |" in report
    for line in ("## Epochs", "![attention.png](attention.png)"):
        assert line in report


@pytest.mark.slow
def test_a_stopped_training_goes_on(trained):
    folder, files, recipe, whole = trained
    again = folder.with_name("again")
    with pytest.raises(KeyboardInterrupt):
        train_translator(*files, again, recipe, [Stop(1)])
    assert not again.exists()
    translator = train_translator(*files, again, recipe)
    for one, other in zip(
        whole.model.weights, translator.model.weights, strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    ours, theirs = rows(folder), rows(again)
    for row in (*ours, *theirs):
        del row["seconds"]
    assert ours == theirs


@pytest.mark.slow
def test_what_is_trained_is_not_trained_again(trained, monkeypatch):
    folder, files, recipe, translator = trained
    monkeypatch.setattr("keras_attention.recipe.training.resumable_fit", None)
    again = train_translator(*files, folder, recipe)
    assert again(["abc"]) == translator(["abc"])
    other = Recipe(**{**SMALL, "seed": 1})
    for train, by in ((files[0], other), (files[1], recipe)):
        with pytest.raises(ValueError, match="already contains"):
            train_translator(train, files[1], folder, by)


@pytest.mark.slow
def test_the_best_epoch_is_kept(tmp_path, monkeypatch):
    """By a metric of which smaller is better, and 1 the best epoch."""
    files = write_table(tmp_path, 8), write_table(tmp_path, 7)
    weights = []

    class Judge(keras.callbacks.Callback):
        def __init__(self, *arguments):
            super().__init__()

        def on_epoch_end(self, epoch, logs=None):
            logs["val_wer"] = [50.0, 20.0, 30.0][epoch]
            weights.append(self.model.get_weights())

    monkeypatch.setattr(
        "keras_attention.recipe.training.ValidationScores", Judge
    )
    recipe, said = Recipe(metric="wer", **SMALL | {"epochs": 3}), []
    found = train_translator(*files, tmp_path / "out", recipe, (), said.append)
    for one, other in zip(found.model.get_weights(), weights[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert not all(map(np.array_equal, weights[1], weights[2]))
    assert said[-1].startswith("Best epoch: 2 of 3, with val_wer 20 and val_lo")


@pytest.mark.parametrize(
    ("metric", "values", "losses", "best"),
    [
        ("accuracy", [0, 0, 0], [3.0, 1.0, 2.0], 1),
        ("accuracy", [0, 10, 10], [1.0, 3.0, 2.0], 2),
        ("wer", [30, 20, 20], [1.0, 2.0, 3.0], 1),
        ("bleu", [20.0, 20.001, 20.0], [1.0, 9e9, 1.0], 1),
        ("accuracy", [0, 0, 0], [np.nan, np.inf, 2.0], 2),
    ],
)
def test_of_equal_epochs_the_one_of_the_least_loss_is_best(
    metric, values, losses, best
):
    callback = BestEpoch(Recipe(metric=metric), len(values))
    callback.set_model(keras.Sequential([keras.layers.Dense(1)]))
    callback.on_train_begin()
    for epoch, pair in enumerate(zip(values, losses, strict=True)):
        logs = dict(zip([f"val_{metric}", "val_loss"], pair, strict=True))
        callback.on_epoch_end(epoch, logs)
    assert callback.best_epoch == best


@pytest.mark.slow
def test_references_are_compared_as_the_tokenizer_writes_them(tmp_path):
    """Else no text is right that differs in Unicode form, case, or spaces."""
    rows = ["a\te\u0301\n", "b\tE\u0301  e\u0301\n"] * 4
    file = tmp_path / "words.tsv"
    file.write_text("".join(rows), encoding="utf-8")
    seen, said = [], []

    class Judge(keras.callbacks.Callback):
        def __init__(self, _, sources, references, metrics):
            super().__init__()
            seen.extend(references)

        def on_epoch_end(self, epoch, logs=None):
            logs["val_accuracy"] = 0.0

    recipe = Recipe(lowercase=True, target_tokenizer="word", **SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_attention.recipe.training.ValidationScores", Judge)
        with pytest.warns(UserWarning, match="`accuracy` was 0 in every epoch"):
            train_translator(
                [file], [file], tmp_path / "out", recipe, (), said.append
            )
    assert seen == ["é", "é é"] * 4
    *_, line, _, _ = said
    assert line.startswith("8 of 8 references are normalized by")


@pytest.mark.slow
def test_long_pairs_are_left_out_aloud(tmp_path):
    files = write_table(tmp_path), write_table(tmp_path, 8)
    with files[0][0].open("a") as file:
        file.write(f"{'z' * 300}\ta\tX\n")
    short, said = Recipe(**SMALL | {"epochs": 1}), []
    with pytest.warns(
        UserWarning, match="more than 50 .* pairs: 1. .* line 17"
    ):
        found = train_translator(
            *files, tmp_path / "out", short, (), said.append
        )
    assert "z" not in found.source_tokenizer.vocabulary
    assert said[0].endswith(": 16 pairs, at most 9 tokens per side")
    with pytest.raises(ValueError, match=r"max_length=3\. Raise it"):
        train_translator(*files, tmp_path / "o", Recipe(max_length=3))


@pytest.mark.slow
def test_a_long_pair_makes_its_batch_smaller(tmp_path, monkeypatch):
    """And the texts of validation are as long as its references at most."""
    files = write_table(tmp_path, 64), write_table(tmp_path, 8)
    with files[0][0].open("a") as file:
        file.write(f"{'ab' * 400}\t{'ba' * 400}\tX\n")
    shapes, limits = [], []

    def fit(model, folder, batches, validation_data, callbacks, **options):
        shapes.extend(tuple(x.shape) for (x, _), _ in batches)
        (scores,) = (x for x in callbacks if isinstance(x, ValidationScores))
        limits.append(scores.translator.search.max_length)
        raise KeyboardInterrupt

    monkeypatch.setattr("keras_attention.recipe.training.resumable_fit", fit)
    for tokens in (None, 60):
        recipe = Recipe(units=4, max_length=1000, max_tokens=tokens)
        with pytest.raises(KeyboardInterrupt):
            train_translator(*files, tmp_path / "out", recipe)
    assert sorted(shapes[:2]) == [(1, 802), (64, 6)]
    assert shapes[2:].count((1, 802)) == 1
    assert all(rows * width <= 60 for rows, width in shapes[2:] if rows > 1)
    assert sum(rows for rows, _ in shapes[2:]) > 60
    longest = max(map(len, read_texts(files[1], recipe)[1]))
    assert limits == [4 * (longest + 2)] * 2


@pytest.mark.slow
def test_pictures_are_missed_aloud(tmp_path, monkeypatch):
    """Of a training of fewer pairs than a batch has."""
    files = write_table(tmp_path, 5)
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    recipe = Recipe(units=4, epochs=1)
    with pytest.warns(UserWarning, match=r"No figures.*\[plots\]"):
        train_translator(files, files, tmp_path / "out", recipe)
    assert Translator.load(tmp_path / "out")(["abc"])
    assert len(rows(tmp_path / "out")) == 1
    assert "png" not in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "epochs"), [(40, 400), (2000, 40)])
def test_small_corpora_have_more_epochs(tmp_path, monkeypatch, pairs, epochs):
    asked = []

    def fit(*arguments, **options):
        asked.append(options["epochs"])
        raise KeyboardInterrupt

    monkeypatch.setattr("keras_attention.recipe.training.resumable_fit", fit)
    files = write_table(tmp_path, pairs)
    with pytest.raises(KeyboardInterrupt):
        train_translator(
            files, files, tmp_path / "out", Recipe(units=4, batch_size=8)
        )
    assert asked == [epochs]


def test_tags_are_read_in_front_of_the_source(tmp_path):
    files = write_table(tmp_path, tagged=True)
    recipe = Recipe(features=2, target_tokenizer="symbol")
    sources, targets = read_texts(files, recipe)
    line = files[0].read_text().split("\n")[0].split("\t")
    assert (sources[0], targets[0]) == (f"{line[0]}\t{line[2]}", line[1])
    sources[0] += " ; X; "
    source, target = make_tokenizers(sources, targets, recipe)
    assert isinstance(source, TaggedTokenizer)
    assert sorted(source.tokenizer.vocabulary) == ["a", "b", "c"]
    assert source.vocabulary[3:] == ["BACK", "X"]
    assert set(target.vocabulary) == {"a", "b", "c"}


def test_two_files_and_other_columns_are_the_same_pairs(tmp_path):
    table = write_table(tmp_path)
    sides = read_texts(table, Recipe())
    files = [tmp_path / "source", tmp_path / "target"]
    for file, side in zip(files, sides, strict=True):
        file.write_text("\n".join(side) + "\n")
    assert [*map(list, read_texts(files, Recipe()))] == [*map(list, sides)]
    turned = read_texts(table, Recipe(columns=(1, 0)))
    assert [*map(list, turned)] == [*map(list, sides[::-1])]


@pytest.mark.parametrize("count", [0, 2, 3])
def test_features_are_a_column_of_a_table(tmp_path, count):
    files = count * write_table(tmp_path)
    with pytest.raises(ValueError, match="one tab-separated file"):
        read_texts(files, Recipe(features=2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": "dot"}, "attention"),
        ({"metric": "loss"}, "metric"),
        ({"dropout": 1.0}, "dropout"),
        ({"units": "8"}, "units"),
        ({"columns": (0, 1, 2)}, "columns"),
        ({"columns": 1}, "`columns` must be a list"),
        ({"columns": {0, 1}}, "Pass a pair"),
        ({"columns": (0, "a")}, "columns='a'"),
        ({"columns": (0, -1)}, "columns=-1"),
        ({"features": 1.5}, "features=1.5"),
        ({"features_separator": ""}, "`features_separator` must be a string"),
        ({"normalization": "nfx"}, "`normalization` must be one of"),
        ({"seed": 2**32}, "`seed` must be an integer of at most"),
        ({"seed": 2**32 - 1, "members": 2}, "`seed` must be an integer of"),
        ({"members": 0}, "`members` must be"),
        ({"columns": (0, 2), "features": 2}, "zero-based"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**changes)


def test_every_text_is_quoted_as_toml_quotes_it():
    separator = '"\\é\U0001f600\x01\x7f'
    recipe = Recipe(features=3, features_separator=separator, seed=2**32 - 1)
    found = tomllib.loads(recipe.to_toml())
    assert found["seed"] == 2**32 - 1
    assert found["features_separator"] == recipe.features_separator
    assert found["features"] == 3
    assert json.dumps(found["columns"]) == "[0, 1]"


def test_numbers_of_numpy_are_written_as_numbers():
    columns = np.int64(1), np.int64(0)
    recipe = Recipe(units=np.int64(4), rate=np.float32(0.5), columns=columns)
    assert (
        recipe.to_toml() == Recipe(units=4, rate=0.5, columns=(1, 0)).to_toml()
    )


COUNTS = {  # of numbers in the weights, which files of trainings hold
    "additive": 2404,
    "general": 2400,
    "location_aware": 2480,
    "coverage": 2412,
    "entmax15": 2404,
    "sparsemax": 2404,
    "monotonic": 2405,
    "forward": 2404,
    "chunkwise": 2473,
    "hard": 2193,
    "hard_monotonic": 2212,
}


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_every_mechanism_fits(attention):
    recipe = Recipe(units=4, layers=2, attention=attention, order="bahdanau")
    model = make_model(recipe, 7, 9)
    assert model.decoder.cell.order == "bahdanau"
    assert model.count_params() == COUNTS[attention]
    ids = np.array([[2, 5, 6, 3], [2, 4, 3, 0]])
    assert model((ids, ids[:, :3])).shape == (2, 3, 9)


class StopAt(keras.callbacks.Callback):
    """Ends a training at its n-th epoch, counted over all members."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def on_epoch_begin(self, epoch, logs=None):
        self.count -= 1
        if self.count < 0:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_members_are_trained_one_by_one_and_joined(tmp_path):
    """Stopped within the second one, it goes on with the second one."""
    files = write_table(tmp_path), write_table(tmp_path, 8)
    recipe = Recipe(target_tokenizer="symbol", members=2, seed=3, **SMALL)
    folder, said = tmp_path / "out", []
    with pytest.raises(KeyboardInterrupt):
        train_translator(*files, folder, recipe, [StopAt(3)])
    assert not folder.exists()
    found = train_translator(*files, folder, recipe, (), said.append)
    assert isinstance(found.model, Ensemble)
    work = tmp_path / "out.members"
    assert f"{work / 'seed_3'} is already trained" in said[4]
    assert f"Resuming the training in {work / 'seed_4.training'}" in said
    *_, one, two, both = said
    assert "with beam search, seed_3: accuracy " in one
    assert "with beam search, seed_4: accuracy " in two
    assert "with beam search, ensemble: accuracy " in both
    sources, _ = read_texts(files[1], recipe)
    assert Translator.load(folder)(sources) == found(sources)
    assert not work.exists()
    alone = Recipe(**{**asdict(recipe), "members": 1, "seed": 4})
    single = train_translator(*files, tmp_path / "4", alone)
    for member in (Translator.load(folder / "seed_4"), single):
        pairs = zip(
            found.model.models[1].weights, member.model.weights, strict=True
        )
        for x, y in pairs:
            np.testing.assert_array_equal(x.numpy(), y.numpy())
    ours, theirs = rows(folder / "seed_4"), rows(tmp_path / "4")
    assert [x["loss"] for x in ours] == [x["loss"] for x in theirs]
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "## Worst hypotheses" in report
    assert "## Epochs" not in report
    again = []
    train_translator(*files, folder, recipe, (), again.append)
    assert again == [
        f"{folder} is already trained with these files and options"
    ]


@pytest.mark.slow
def test_an_ended_training_warns_of_its_texts_once(tmp_path):
    table, recipe = write_table(tmp_path), Recipe(**SMALL | {"epochs": 1})
    given = table, table, tmp_path / "out", recipe
    with pytest.warns(UserWarning, match="are also in the training set"):
        train_translator(*given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_translator(*given)
    shutil.rmtree(given[2])  # what is removed can be trained again
    with pytest.warns(UserWarning, match="are also in the training set"):
        train_translator(*given)
