"""Tokenizers that are read by the steps in their JSON, without their class."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass

import hostile
import numpy as np
import pytest
from source import ROOT
from tokenizers import KINDS
from tokenizers import OPTIONS
from tokenizers import TEXT
from tokenizers import train

from keras_attention.steps.reader import read_json
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import ParallelTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import steps


class Syllables(AbstractTokenizer):
    """One of a user, whose vocabulary has another name in its config."""

    unknown_text = "?"

    @property
    def steps(self):
        return [
            steps.Normalize("nfd", lowercase=True),
            steps.Replace([(r"\pN+", "0")]),
            steps.Split("-"),
            steps.LookUp(self.vocabulary, edges=r"^'"),
            steps.Join("-", closes="[!?]"),
        ]

    def get_config(self):
        return {"names": self.vocabulary, **super().get_config()}


def letters_with_tags():
    letters = CharacterTokenizer("abc", lowercase=True)
    tagged = TaggedTokenizer(letters, ["X", "Y"], separator="|")
    return tagged.extended(["de\tZ", "b\tX"])


OTHERS = [
    Syllables(["ba", "na", "0", "!"]),
    letters_with_tags(),
    TaggedTokenizer(Syllables(["ba", "a"]), ["X"]),
    TaggedTokenizer(train(KINDS[1], size=80), ["X"]),
]
TEXTS = ["ba-NA-1!\tX;Y", "'na", "b\u0301a\t X|Z", "A\0B", *TEXT]
TEXTS += [
    x.decode(errors="replace")
    for x in hostile.hostile_texts(100, [*TEXT, *TEXTS], seed=4)
]


@pytest.mark.parametrize(
    "tokenizer", [*(train(kind, **OPTIONS[kind]) for kind in KINDS), *OTHERS]
)
def test_the_steps_in_the_json_are_the_tokenizer(tokenizer):
    reader = read_json(tokenizer.to_json())
    ids = tokenizer.tokenize(TEXTS)
    np.testing.assert_array_equal(reader.tokenize(TEXTS), ids)
    np.testing.assert_array_equal(
        reader.tokenize(TEXTS, 5), tokenizer.tokenize(TEXTS, 5)
    )
    assert reader.unknown(TEXTS) == tokenizer.unknown(TEXTS)
    ids = np.concatenate([ids, np.resize([5, 1, 10**6, -1, 3, 4], ids.shape)])
    np.testing.assert_array_equal(reader.tokens(ids), tokenizer.tokens(ids))
    np.testing.assert_array_equal(
        reader.detokenize(ids), tokenizer.detokenize(ids)
    )
    assert reader.vocabulary_size == tokenizer.vocabulary_size


def test_vocabularies_and_models_are_written_once():
    for tokenizer in (train(KINDS[1]), letters_with_tags(), train(KINDS[0])):
        content = json.loads(tokenizer.to_json())
        written = json.dumps(content["steps"])
        assert not {"vocabulary", "model", "tags"} & {*written.split('"')}
    written = json.dumps(json.loads(OTHERS[0].to_json())["steps"])
    assert '"vocabulary": ["ba", "na", "0", "!"]' in written


def test_what_only_its_class_can_read_is_left_to_it():
    class Shout(steps.AbstractStep):
        pass

    class Own(CharacterTokenizer):
        @property
        def steps(self):
            return [Shout(), *super().steps]

    letters = CharacterTokenizer("ab")
    several = ParallelTokenizer([letters, letters])
    old = json.loads(letters.to_json())
    del old["steps"]
    tagged = TaggedTokenizer(Own("ab"), ["X"])
    for text in (
        *(x.to_json() for x in (several, Own("ab"), tagged)),
        json.dumps(old),
    ):
        assert read_json(text) is None


class Nested(AbstractTokenizer):
    """One of a user whose config has other dictionaries.

    Args:
        other: What is in its config before the names.
    """

    def __init__(self, names, other):
        super().__init__(names)
        self.other = other

    @property
    def steps(self):
        return [steps.Split(), steps.LookUp(self.vocabulary), steps.Join(" ")]

    def get_config(self):
        own = {"config": {"vocabulary": self.vocabulary}}
        return {"other": self.other, "own": own}


@pytest.mark.parametrize(
    "other",
    [
        *(("config", "vocabulary"), {"config": "a vocabulary"}, {"config": 1}),
        *({"config": [["b", "a"]]}, ({"config": {"vocabulary": ["b", "a"]}},)),
        [{"config": {"model": {"vocabulary": ["b", "a"]}}}],
    ],
)
def test_other_dictionaries_of_a_config_mislead_nobody(other):
    tokenizer = Nested(["a", "b"], other)
    reader = read_json(tokenizer.to_json())
    assert reader.tokenize(["b a"]).tolist() == [[2, 5, 4, 3]]


@dataclass(frozen=True)
class Split(steps.AbstractStep):
    """Splits the other way round.

    Args:
        steps: Anything but steps.
    """

    steps: frozenset = frozenset("-")

    def read(self, value):
        return [*reversed(re.split("[" + "".join(self.steps) + "]", value))]


def test_steps_of_users_are_no_others_of_the_same_name():
    class Own(Syllables):
        @property
        def steps(self):
            return [Split(), *super().steps[3:]]

    assert Own(["a", "b"]).tokenize(["a-b"]).tolist() == [[2, 5, 4, 3]]
    assert read_json(Own(["a", "b"]).to_json()) is None


def test_other_names_than_those_of_the_steps_are_left_to_the_class():
    class Loud(Syllables):
        @property
        def steps(self):
            small = [x.lower() for x in self.vocabulary]
            return [*super().steps[:3], steps.LookUp(small), steps.Join("-")]

    assert Loud(["BA"]).tokens([[4]]).tolist() == [["BA"]]
    assert read_json(Loud(["BA"]).to_json()) is None


def test_keras_is_not_needed(tmp_path):
    tokenizers = [train(kind, size=100) for kind in KINDS]
    for number, tokenizer in enumerate(tokenizers):
        tokenizer.save(tmp_path / str(number))
    program = (
        "import pathlib, sys; sys.argv[0] = 'keras-attention'\n"
        "from keras_attention.steps.reader import read_json\n"
        f"for number in range({len(KINDS)}):\n"
        f"    file = pathlib.Path({str(tmp_path)!r}, str(number))\n"
        "    text = (file / 'tokenizer.json').read_text('utf-8')\n"
        "    print(read_json(text).tokenize(['Ein Mann']).tolist())\n"
        "assert not {'keras', 'tensorflow', 'jax', 'torch'} & {*sys.modules}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    wanted = [x.tokenize(["Ein Mann"]).tolist() for x in tokenizers]
    assert [*map(json.loads, done.stdout.splitlines())] == wanted
