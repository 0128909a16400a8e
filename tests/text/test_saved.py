import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from tokenizers import OPTIONS
from tokenizers import TEXT
from tokenizers import every_kind
from tokenizers import train

from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import WordTokenizer

pytestmark = pytest.mark.tensorflow


def pickled(x):
    return pickle.loads(pickle.dumps(x))


@every_kind
def test_config_builds_an_equal_tokenizer(kind):
    tokenizer = train(kind, **OPTIONS[kind])
    config = keras.saving.serialize_keras_object(tokenizer)
    twin = keras.saving.deserialize_keras_object(json.loads(json.dumps(config)))
    assert type(twin) is kind
    assert twin.get_config() == tokenizer.get_config()
    arguments = set(inspect.signature(kind).parameters)
    assert set(twin.get_config()) == arguments
    np.testing.assert_array_equal(twin.tokenize(TEXT), tokenizer.tokenize(TEXT))


@every_kind
def test_a_saved_tokenizer_comes_back(kind, tmp_path):
    first = train(kind, **OPTIONS[kind])
    folder = tmp_path / "new" / kind.__name__
    first.save(folder)
    first.save(str(folder))
    assert [file.name for file in folder.iterdir()] == ["tokenizer.json"]
    text = (folder / "tokenizer.json").read_text("utf-8")
    assert first.to_json() == text
    for twin in (
        AbstractTokenizer.load(folder),
        AbstractTokenizer.from_json(text),
        kind.load(str(folder)),
        kind.from_json(text),
    ):
        assert type(twin) is kind
        assert twin.get_config() == first.get_config()


@every_kind
def test_the_draft_of_a_file_follows_no_link(kind, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "shared"
    folder.mkdir()
    planted = folder / f"tokenizer.json.{os.getpid()}.part"
    planted.symlink_to(victim)
    train(kind).save(folder)
    assert victim.read_text() == "mine"
    assert planted.is_symlink()


@every_kind
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_is_equal(kind, copied):
    first = train(kind, **OPTIONS[kind])
    first.tokenize(TEXT)
    twin = copied(first)
    assert type(twin) is kind
    assert twin.get_config() == first.get_config()
    np.testing.assert_array_equal(twin.tokenize(TEXT), first.tokenize(TEXT))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "{}", '{"config": {}}', "[" * 100_000, b"\xff", None],
)
def test_broken_json_is_refused(text):
    with pytest.raises(ValueError, match=r"what `to_json` wrote.*Write it a"):
        AbstractTokenizer.from_json(text)


def test_another_class_is_not_loaded(tmp_path):
    train(WordTokenizer).save(tmp_path)
    text = (tmp_path / "tokenizer.json").read_text("utf-8")
    with pytest.raises(ValueError, match=r"holds .*WordTokenizer"):
        CharacterTokenizer.from_json(text)
    with pytest.raises(ValueError, match=r"holds .*WordTokenizer"):
        CharacterTokenizer.load(tmp_path)


def test_a_broken_model_in_a_file_is_named(tmp_path):
    train(SentencePieceTokenizer).save(tmp_path)
    file = tmp_path / "tokenizer.json"
    content = json.loads(file.read_text("utf-8"))
    for model in (content["config"]["model"][:400], "no base64", 3):
        content["config"]["model"] = model
        file.write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"tokenizer\.json"):
            AbstractTokenizer.load(tmp_path)


@every_kind
@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *(("lowercase", x) for x in ("x", 1, None, [True])),
        *(("normalization", x) for x in ("NFC", None, ["nfc"], {})),
        *(("vocabulary", x) for x in ({"a": 4}, 7, [["a"]], ["a", "a"])),
        ("model", "a"),
        ("more", 1),
    ],
)
def test_nonsense_in_a_file_is_refused(kind, key, wrong, tmp_path):
    tokenizer = train(kind)
    content = json.loads(tokenizer.to_json())
    content["config"][key] = wrong
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"tokenizer\.json.*cannot be used"):
        AbstractTokenizer.load(tmp_path)


@pytest.mark.parametrize("normalization", ["nfkc", "identity"])
def test_a_saved_tokenizer_keeps_what_it_was_trained_with(normalization):
    content = {
        "class_name": "keras_attention>WordTokenizer",
        "config": {
            "vocabulary": ["th"],
            "normalization": normalization,
            "lowercase": False,
        },
    }
    tokenizer = AbstractTokenizer.from_json(json.dumps(content))
    found = tokenizer.tokenize(["tʰ"])[0, 1]
    assert int(found) == (4 if normalization == "nfkc" else 1)


def test_no_file_elsewhere_is_read_for_a_tokenizer(tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    train(WordTokenizer).save(folder)
    file = folder / "tokenizer.json"
    file.rename(other)
    for target in (other, "/dev/zero"):
        file.symlink_to(target)
        with pytest.raises(
            ValueError, match=r"tokenizer\.json.*(link|devices)"
        ):
            AbstractTokenizer.load(folder)
        file.unlink()
    with pytest.raises(ValueError, match=r"/dev/zero: pipes and devices"):
        SentencePieceTokenizer(Path("/dev/zero"))


@pytest.mark.thorough
def test_a_tokenizer_loads_in_a_new_process(tmp_path):
    train(WordTokenizer).save(tmp_path)
    code = (
        "from keras_attention.text.base import AbstractTokenizer as A;"
        f"print(A.load({str(tmp_path)!r}).vocabulary_size)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert run.stdout.split()[-1] == str(train(WordTokenizer).vocabulary_size)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "JSON"),
        (b'{"class_name": "keras_atten', "JSON"),
        (b"[1, 2]", "TypeError"),
        (b'{"config": {}}', "class_name"),
        (b'{"class_name": "os>system", "config": {}}', "os>system"),
        (b'{"class_name": "Dense", "config": {"units": 3}}', "Dense"),
        (b'{"class_name": "keras_attention>WordTokenizer", "config": {}}', "v"),
        (b"\xff\xfe\x00", "utf-8"),
        (None, "No such file"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, reason):
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        AbstractTokenizer.load(tmp_path)
    assert str(file) in str(caught.value)
