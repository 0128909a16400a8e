"""AbstractSearch: limits, ids and configs, as all searches have them."""

import json

import keras
import numpy as np
import pytest

from keras_attention.search import AbstractSearch
from keras_attention.search import GreedySearch


class TestArguments:
    @pytest.mark.parametrize("name", ["max_length", "min_length"])
    @pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True])
    def test_refuses_lengths_that_do_not_count(self, name, value):
        with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
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

    @pytest.mark.parametrize("shape", [(3,), (1, 2, 3)])
    def test_refuses_a_prefix_of_other_axes(self, shape):
        with pytest.raises(ValueError, match="`prefix` must be ids of the sh"):
            GreedySearch()(None, (), 1, prefix=np.ones(shape, "int32"))

    def test_base_says_what_a_search_must_define(self):
        with pytest.raises(NotImplementedError, match="__call__"):
            AbstractSearch()(None, (), 1)


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
        assert GreedySearch().get_config() == {
            "max_length": 100,
            "min_length": 1,
            "start_id": 2,
            "end_id": 3,
            "no_repeat_ngram_size": 0,
            "forbidden_ids": [],
        }
