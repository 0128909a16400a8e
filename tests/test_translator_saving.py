"""Translator.save and load: one folder, whole or not at all."""

import copy
import json
import multiprocessing
import os
import pickle
import shutil
from zipfile import ZipFile

import numpy as np
import pytest
from tiers import some
from tiny import tiny_translator

from keras_attention import GreedySearch
from keras_attention import Shortlist
from keras_attention import Translator

pytestmark = pytest.mark.usefixtures("without_graphs")


def pickled(x):
    return pickle.loads(pickle.dumps(x))


NUMBERS = ["7", "1234", "905", "42", "6006"]


@pytest.mark.slow
def test_save_and_load(tmp_path):
    translator = tiny_translator()
    translator.save(tmp_path / "digits")
    translator.save(tmp_path / "digits")  # replaces what it wrote
    shutil.move(tmp_path / "digits", tmp_path / "moved")
    again = Translator.load(str(tmp_path / "moved"))
    wanted = translator(NUMBERS, return_scores=True)
    assert again(NUMBERS, return_scores=True) == wanted
    assert again.search.get_config() == translator.search.get_config()


def test_the_optimizer_is_left_out(tmp_path):
    """The model is as it was, and what is loaded can be trained again."""
    tiny_translator().save(tmp_path / "tiny")
    tiny = Translator.load(tmp_path / "tiny")  # which no other test compiles
    tiny.model.compile("adam")
    before = tiny.model.optimizer
    before.build(tiny.model.trainable_variables)
    tiny.save(tmp_path / "saved")
    assert tiny.model.optimizer is before
    size = (tmp_path / "saved" / "model.keras").stat().st_size
    tiny.model.save(tmp_path / "whole.keras")
    with_optimizer = (tmp_path / "whole.keras").stat().st_size
    assert size < 0.5 * with_optimizer
    assert len(list((tmp_path / "saved").iterdir())) == 4
    again = Translator.load(tmp_path / "saved").model
    assert not again.compiled
    for ours, theirs in zip(again.weights, tiny.model.weights, strict=True):
        assert ours.name == theirs.name
        np.testing.assert_array_equal(ours, theirs)
    again.compile("sgd")
    assert again.compiled


def test_weights_that_are_no_numbers_are_named(tmp_path):
    tiny_translator().save(tmp_path / "tiny")
    tiny = Translator.load(tmp_path / "tiny")
    tiny.model.weights[1].assign(np.inf + np.zeros(tiny.model.weights[1].shape))
    tiny.save(tmp_path / "saved")
    message = f"model.keras.*{tiny.model.weights[1].path}, which contains NaN"
    with pytest.raises(ValueError, match=message):
        Translator.load(tmp_path / "saved")


def listed_translator():
    """Make a translator that writes 1 and 2 alone, as far as it can."""
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    words = parts[2].tokenize(["yx"])[0]
    shortlist = Shortlist([[0]] * parts[0].source_vocabulary_size, words)
    return Translator(*parts, GreedySearch(max_length=8), shortlist=shortlist)


@pytest.mark.slow
def test_a_shortlist_stays(tmp_path):
    translator = listed_translator()
    texts, scores, *_ = translator(NUMBERS, return_scores=True)
    assert texts != tiny_translator()(NUMBERS)
    assert set("".join(texts)) <= {"x", "y"}
    translator.save(tmp_path / "digits")
    again = Translator.load(tmp_path / "digits")
    assert again.shortlist.always.tolist() == [
        *translator.shortlist.always.tolist()
    ]
    assert again(NUMBERS, return_scores=True)[:2] == (texts, scores)


def test_a_shortlist_goes_when_it_is_left_out(tmp_path):
    listed_translator().save(tmp_path / "digits")
    assert "shortlist.npz" in content_of(tmp_path / "digits")["sha256"]
    tiny_translator().save(tmp_path / "digits")
    assert not (tmp_path / "digits" / "shortlist.npz").exists()
    assert Translator.load(tmp_path / "digits").shortlist is None


FILES = [
    "translator.json",
    "model.keras",
    "source_tokenizer/tokenizer.json",
    "target_tokenizer/tokenizer.json",
]


@pytest.mark.parametrize("name", [*FILES, "shortlist.npz", "source_tokenizer"])
def test_what_is_not_in_the_folder_is_not_read(saved, name):
    """Nor is what has no end. A link to a file beside it is as good as that."""
    file, other = saved / name, saved.parent / "other"
    if file.exists():
        file.rename(other)
        file.symlink_to(other)
        with pytest.raises(
            ValueError, match=rf"{name}.* a link to a file outside"
        ):
            Translator.load(saved)
        file.unlink()
        inside = other.rename(file.with_name("inside"))
        file.symlink_to(inside)
        assert Translator.load(saved)(NUMBERS)
        file.unlink()
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(file)
        with pytest.raises(ValueError, match=name):
            Translator.load(saved)
        file.unlink()


@pytest.mark.parametrize("name", FILES)
def test_load_names_the_damaged_file(tmp_path, name):
    tiny_translator().save(tmp_path / "digits")
    file = tmp_path / "digits" / name
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")
    file.unlink()
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "3",
        "[]",
        "{}",
        '{"search": 3}',
        '{"search": {"class_name": "Nothing"}}',
        pytest.param(100_000 * "[", id="deep"),
    ],
)
def test_another_translator_json_is_named(tmp_path, content):
    tiny_translator().save(tmp_path)
    (tmp_path / "translator.json").write_text(content)
    with pytest.raises(ValueError, match=r"translator\.json, which cannot"):
        Translator.load(tmp_path)


def put(folder, content):
    (folder / "translator.json").write_text(json.dumps(content))


@pytest.fixture
def saved(tmp_path):
    tiny_translator().save(tmp_path / "digits")
    return tmp_path / "digits"


def content_of(folder):
    return json.loads((folder / "translator.json").read_text())


@pytest.mark.parametrize("name", ["keras_attention", "keras"])
def test_a_newer_version_is_named(saved, name):
    file, content = saved / "model.keras", content_of(saved)
    del content["sha256"]
    content["search"]["config"]["more"] = 1
    if name == "keras_attention":
        content["version"] = "99.0"
    else:
        shutil.move(file, saved / "old")
        with ZipFile(saved / "old") as old, ZipFile(file, "w") as new:
            new.writestr("metadata.json", json.dumps({"keras_version": "99.0"}))
            for part in ("config.json", "model.weights.h5"):
                new.writestr(part, old.read(part))
    put(saved, content)
    said = rf"argument 'more'.* {name} 99.0 wrote it, .*: upgrade {name}\."
    with pytest.raises(ValueError, match=said):
        Translator.load(saved)


def test_a_cut_model_is_named_as_damaged(saved):
    file, content = saved / "model.keras", content_of(saved)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"model\.keras, .* it is damaged"):
        Translator.load(saved)
    del content["sha256"]
    put(saved, content)
    with pytest.raises(ValueError, match=r"model\.keras, .* not a zip file"):
        Translator.load(saved)


def test_tokenizers_in_each_other_s_place_are_named(saved):
    sides = [saved / f"{side}_tokenizer" for side in ("source", "target")]
    contents = [(side / "tokenizer.json").read_bytes() for side in sides]
    for side, other in zip(sides, reversed(contents), strict=True):
        (side / "tokenizer.json").write_bytes(other)
    with pytest.raises(
        ValueError, match=r"source_tok.*belongs to another translator"
    ):
        Translator.load(saved)


def test_what_was_changed_on_purpose_loads(saved):
    """And so does a folder of the time before there were checksums."""
    content = content_of(saved)
    tokenizer = tiny_translator().source_tokenizer
    file = saved / "target_tokenizer" / "tokenizer.json"
    file.write_text(tokenizer.to_json())
    with pytest.raises(ValueError, match="remove its line from `sha256`"):
        Translator.load(saved)
    del content["sha256"]["target_tokenizer/tokenizer.json"]
    put(saved, content)
    found = Translator.load(saved).target_tokenizer
    assert found.get_config() == tokenizer.get_config()
    del content["sha256"]
    put(saved, content)
    Translator.load(saved)


def test_a_wrong_option_names_its_file(saved):
    put(saved, {**content_of(saved), "max_source_length": -1})
    with pytest.raises(ValueError, match=r"translator\.json, .*max_source"):
        Translator.load(saved)


def test_only_files_of_a_translator_are_checked(saved):
    """No name in the file makes anybody read another file."""
    content = content_of(saved)
    content["sha256"]["/dev/zero"] = content["sha256"]["../x"] = "0"
    put(saved, content)
    Translator.load(saved)
    for wrong in (3, [], {"model.keras": 3}):
        put(saved, {**content, "sha256": wrong})
        with pytest.raises(
            ValueError, match=r"(translator\.json|model\.keras)"
        ):
            Translator.load(saved)


@pytest.mark.slow
@pytest.mark.parametrize("copied", some([pickled, copy.copy, copy.deepcopy], 1))
def test_a_copy_is_a_translator_of_its_own(copied):
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    first = Translator(*parts, GreedySearch(max_length=5), 7, True)
    twin = copied(first)
    assert twin.search.get_config() == first.search.get_config()
    assert (twin.max_source_length, twin.replace_unknown) == (7, True)
    assert twin.model is not first.model
    if copied is pickled:
        assert twin(NUMBERS, return_scores=True) == first(
            NUMBERS, return_scores=True
        )


@pytest.mark.slow
def test_another_process_gets_the_same():
    translator = tiny_translator()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(translator, (NUMBERS,))
    assert found == translator(NUMBERS)
