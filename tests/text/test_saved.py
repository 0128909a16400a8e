import copy
import inspect
import json
import pickle
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
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordTokenizer


@every_kind
def test_saved_or_copied_a_tokenizer_comes_back(kind, tmp_path):
    first = train(kind, **OPTIONS[kind])
    ids, config = first.tokenize(TEXT), first.get_config()
    assert {*config} == {*inspect.signature(kind).parameters}
    folder = tmp_path / "new" / kind.__name__
    first.save(folder)
    first.save(str(folder))
    assert [file.name for file in folder.iterdir()] == ["tokenizer.json"]
    text = (folder / "tokenizer.json").read_text("utf-8")
    assert first.to_json() == text
    content = json.dumps(keras.saving.serialize_keras_object(first))
    for twin in (
        *(AbstractTokenizer.load(folder), AbstractTokenizer.from_json(text)),
        *(kind.load(str(folder)), kind.from_json(text)),
        keras.saving.deserialize_keras_object(json.loads(content)),
        *(copy.copy(first), copy.deepcopy(first)),
        pickle.loads(pickle.dumps(first)),
    ):
        assert type(twin) is kind
        assert twin.get_config() == config
        np.testing.assert_array_equal(twin.tokenize(TEXT), ids)


def test_a_file_says_the_steps():
    steps = json.loads(train(WordTokenizer).to_json())["steps"]
    kinds = "Normalize Replace Replace Split LookUp Join".split()
    assert [step.pop("step") for step in steps] == kinds
    assert steps[0] == {"form": "nfc", "lowercase": False}
    assert steps[3] == {"separator": "\n"}
    assert steps[1]["rules"][1] == ["^ | $", ""]
    tagged = TaggedTokenizer(CharacterTokenizer("ab"), ["X"])
    (step,) = json.loads(tagged.to_json())["steps"]
    assert step["separator"] == ";"
    assert [x["step"] for x in step["steps"]] == [*kinds[:1], *kinds[3:]]


def test_another_class_is_not_loaded(tmp_path):
    train(WordTokenizer).save(tmp_path)
    text = (tmp_path / "tokenizer.json").read_text("utf-8")
    with pytest.raises(ValueError, match=r"contains .*WordTokenizer"):
        CharacterTokenizer.from_json(text)
    with pytest.raises(ValueError, match=r"contains .*WordTokenizer"):
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


def test_no_file_elsewhere_is_read_for_a_tokenizer(tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    with pytest.raises(ValueError, match="No such file"):
        AbstractTokenizer.load(folder)
    train(WordTokenizer).save(folder)
    file = folder / "tokenizer.json"
    file.rename(other)
    message = r"tokenizer\.json.*(link|devices)"
    for target in (other, "/dev/zero"):
        file.symlink_to(target)
        with pytest.raises(ValueError, match=message):
            AbstractTokenizer.load(folder)
        file.unlink()
    with pytest.raises(ValueError, match=r"/dev/zero: pipes and devices"):
        SentencePieceTokenizer(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *((x, "JSON") for x in (b"", b"{", b'{"class_name": "keras_atten')),
        *((b"[1, 2]", "TypeError"), (b"[" * 100_000, "Recursion")),
        *((x, "class_name") for x in (b"{}", b'{"config": {}}')),
        (b'{"class_name": "os>system", "config": {}}', "os>system"),
        (b'{"class_name": "Dense", "config": {"units": 3}}', "Dense"),
        (b'{"class_name": "keras_attention>WordTokenizer", "config": {}}', "v"),
        (b"\xff\xfe\x00", "utf-8"),
    ],
)
def test_what_is_broken_is_named(tmp_path, content, reason):
    file = tmp_path / "tokenizer.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        AbstractTokenizer.load(tmp_path)
    assert str(file) in str(caught.value)
    for text in (content, None):
        with pytest.raises(
            ValueError, match=r"the result of `to_json`.*Write it"
        ):
            AbstractTokenizer.from_json(text)
