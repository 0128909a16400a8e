"""AbstractSearch: limits, ids and configs, as all searches have them."""

import inspect
import json
import re

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import search
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search.constraints import as_prefix

DEFAULTS = {
    "max_length": 100,
    "min_length": 1,
    "start_id": 2,
    "end_id": 3,
    "no_repeat_ngram_size": 0,
    "forbidden_ids": (),
}


def never(*_):
    raise AssertionError("no step should be taken")


class TestArguments:
    @pytest.mark.parametrize("name", ["max_length", "min_length"])
    @pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True])
    def test_refuses_lengths_that_do_not_count(self, name, value):
        with pytest.raises(ValueError, match=f"`{name}` must be a positive"):
            GreedySearch(**{name: value})

    @pytest.mark.parametrize("name", ["start_id", "end_id"])
    @pytest.mark.parametrize("value", [-1, 1.5, "<s>"])
    def test_refuses_ids_that_are_none(self, name, value):
        with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
            GreedySearch(**{name: value})

    def test_refuses_a_minimum_above_the_maximum(self):
        with pytest.raises(ValueError, match="`min_length` cannot exceed"):
            GreedySearch(max_length=3, min_length=4)

    def test_takes_numpy_integers(self):
        search = GreedySearch(max_length=np.int64(7), end_id=np.int32(5))
        assert type(search.get_config()["max_length"]) is int
        assert search.end_id == 5

    @pytest.mark.parametrize("value", [-1, 1.5, None])
    def test_refuses_ngrams_that_do_not_count(self, value):
        with pytest.raises(ValueError, match="`no_repeat_ngram_size` must be"):
            GreedySearch(no_repeat_ngram_size=value)

    @pytest.mark.parametrize("value", [[-1], ["<unk>"], [1, 2.0]])
    def test_refuses_forbidden_ids_that_are_none(self, value):
        with pytest.raises(ValueError, match="`forbidden_ids` must be an int"):
            GreedySearch(forbidden_ids=value)

    def test_takes_forbidden_ids_from_any_sequence(self):
        for ids in ((1, 5), range(1, 6, 4), np.array([1, 5])):
            config = GreedySearch(forbidden_ids=ids).get_config()
            assert config["forbidden_ids"] == [1, 5]
            assert json.dumps(config)

    @pytest.mark.parametrize("value", [1, None])
    def test_refuses_forbidden_ids_that_are_no_list(self, value):
        with pytest.raises(ValueError, match="`forbidden_ids` must be a list"):
            GreedySearch(forbidden_ids=value)

    @pytest.mark.parametrize("shape", [(3,), (1, 2, 3)])
    def test_refuses_a_prefix_of_other_axes(self, shape):
        with pytest.raises(ValueError, match="`prefix` must be ids of the sh"):
            GreedySearch()(never, (), 1, prefix=np.ones(shape, "int32"))

    @pytest.mark.parametrize(
        ("prefix", "message"),
        [
            (np.ones((1, 3), "int32"), r"one row a text.*np.repeat\(prefix, 2"),
            (np.ones((3, 3), "int32"), r"one row a text.*shape=\(3, 3\) for 2"),
            (np.array([[4.5], [5.0]]), "whole numbers.*dtype=float"),
            (np.array([[True], [False]]), "whole numbers.*dtype=bool"),
        ],
    )
    @pytest.mark.parametrize("rows", [2, np.int64(2), "tensor"])
    def test_refuses_a_prefix_that_is_not_one_of_ids(
        self, prefix, message, rows
    ):
        rows = ops.convert_to_tensor(2) if rows == "tensor" else rows
        with pytest.raises(ValueError, match=message):
            GreedySearch()(never, (), rows, prefix=prefix)

    def test_a_list_of_prefixes_has_rows_of_one_length(self):
        with pytest.raises(ValueError, match="Pad shorter rows with 0"):
            GreedySearch()(never, (), 2, prefix=[[4], [4, 5]])

    @pytest.mark.tensorflow
    def test_a_ragged_prefix_is_padded(self):
        import tensorflow as tf

        ragged = tf.ragged.constant([[4], [5, 6]])
        assert ops.convert_to_numpy(as_prefix(ragged, 2)).tolist() == [
            [4, 0],
            [5, 6],
        ]

    @pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 1, 4)])
    def test_refuses_a_memory_mask_of_other_rows(self, shape):
        with pytest.raises(ValueError, match=r"`memory_mask` must.* for B=2"):
            BeamSearch(2, coverage_penalty=0.1)(
                never, (), 2, memory_mask=np.ones(shape, "bool")
            )

    def test_base_says_what_a_search_must_define(self):
        with pytest.raises(NotImplementedError, match="define `call"):
            AbstractSearch()(never, (), 1)


@pytest.mark.parametrize("name", ["GreedySearch", "BeamSearch", "Sampling"])
class TestSignature:
    def test_shows_every_argument(self, name):
        signature = inspect.signature(getattr(search, name))
        shown = {k: v.default for k, v in signature.parameters.items()}
        assert all(
            x.kind != x.VAR_KEYWORD for x in signature.parameters.values()
        )
        assert {k: shown[k] for k in DEFAULTS} == DEFAULTS

    def test_is_annotated(self, name):
        for parameter in inspect.signature(
            getattr(search, name)
        ).parameters.values():
            assert parameter.annotation is not parameter.empty, parameter

    def test_documents_every_argument(self, name):
        found = getattr(search, name)
        args = found.__doc__.split("Args:")[1].split("Shapes:")[0]
        listed = re.findall(r"^ +(\w+): [A-Z]", args, re.M)
        assert listed == list(inspect.signature(found).parameters)


def test_every_part_is_documented():
    for name, part in vars(search).items():
        if callable(part):
            assert part.__doc__, name


class TestConfig:
    arguments = {
        "max_length": 9,
        "min_length": 2,
        "start_id": 1,
        "end_id": 4,
        "no_repeat_ngram_size": 3,
        "forbidden_ids": [1, 5],
    }

    def test_config_is_the_arguments(self):
        search = GreedySearch(**self.arguments)
        assert search.get_config() == self.arguments
        revived = GreedySearch.from_config(search.get_config())
        assert revived.get_config() == self.arguments

    def test_keras_serializes_it(self):
        config = keras.saving.serialize_keras_object(
            GreedySearch(**self.arguments)
        )
        assert config["registered_name"] == "keras_attention>GreedySearch"
        revived = keras.saving.deserialize_keras_object(config)
        assert isinstance(revived, GreedySearch)
        assert revived.get_config() == self.arguments

    def test_defaults_are_the_contract(self):
        assert GreedySearch().get_config() == {**DEFAULTS, "forbidden_ids": []}
