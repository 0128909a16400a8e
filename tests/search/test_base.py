"""AbstractSearch: limits, ids and configs, as all searches have them."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import search
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import Sampling
from keras_attention.search.constraints import as_prefix

COUNTS = [0, -1, 2.0, "3", None, True]
NUMBERS = ["1", None, np.nan, np.inf, True]
TEMPERATURES = [0, -1.0, np.nan, np.inf, "1", None]
OPTIONS = {
    "max_length": 9,
    "min_length": 2,
    "start_id": 1,
    "end_id": 4,
    "no_repeat_ngram_size": 3,
    "forbidden_ids": [1, 5],
}
SEARCHES = {
    "GreedySearch": {},
    "BeamSearch": {
        "beam_size": 4,
        "n_best": 2,
        "length_penalty": 0.6,
        "coverage_penalty": 0.2,
    },
    "Sampling": {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "seed": 4},
}
REFUSED = [  # of which search, what option, what values, and what is said
    ("GreedySearch", "max_length", COUNTS, "must be a positive"),
    ("GreedySearch", "min_length", COUNTS, "must be a positive"),
    ("GreedySearch", "min_length", [101], "must not exceed `max_length`"),
    ("GreedySearch", "start_id", [-1, 1.5, "<s>"], "must be an integer"),
    ("GreedySearch", "end_id", [-1, 1.5, "<s>"], "must be an integer"),
    ("GreedySearch", "no_repeat_ngram_size", [-1, 1.5, None], "must be"),
    (
        "GreedySearch",
        "forbidden_ids",
        [[-1], ["a"], [1, 2.0]],
        "must be an int",
    ),
    ("GreedySearch", "forbidden_ids", [1, None], "must be a list"),
    ("BeamSearch", "beam_size", [0, 2.0, None], "must be a positive"),
    ("BeamSearch", "n_best", [0, 2.0, None], "must be a positive"),
    ("BeamSearch", "n_best", [5], "must not exceed"),
    ("BeamSearch", "length_penalty", NUMBERS, "must be a .*number"),
    ("BeamSearch", "coverage_penalty", NUMBERS, "must be a .*number"),
    ("BeamSearch", "coverage_penalty", [-0.1], "must be a non-neg"),
    ("Sampling", "temperature", TEMPERATURES, "must be a pos"),
    ("Sampling", "top_k", [0, 1.5, True], "must be a positive"),
    (
        "Sampling",
        "top_p",
        [0.0, 1.1, -0.5, "0.9", np.nan],
        "must be a positive",
    ),
    ("Sampling", "seed", [-1, 0.5, "a"], "must be an integer"),
]


def never(*_):
    raise AssertionError("no step should be taken")


class TestArguments:
    @pytest.mark.parametrize(
        ("kind", "name", "value", "said"),
        [(*x, value, y) for *x, values, y in REFUSED for value in values],
    )
    def test_refuses_what_an_option_cannot_be(self, kind, name, value, said):
        options = {**SEARCHES[kind], name: value}
        with pytest.raises(ValueError, match=f"`{name}` {said}"):
            getattr(search, kind)(**options)

    def test_takes_numpy_integers(self):
        search = GreedySearch(max_length=np.int64(7), end_id=np.int32(5))
        assert type(search.get_config()["max_length"]) is int
        assert search.end_id == 5

    def test_takes_forbidden_ids_from_any_sequence(self):
        for ids in ((1, 5), range(1, 6, 4), np.array([1, 5])):
            config = GreedySearch(forbidden_ids=ids).get_config()
            assert config["forbidden_ids"] == [1, 5]
            assert json.dumps(config)

    @pytest.mark.parametrize("shape", [(3,), (1, 2, 3)])
    def test_refuses_a_prefix_of_other_axes(self, shape):
        with pytest.raises(ValueError, match=r"`prefix` must be ids \(B, P\)"):
            GreedySearch()(never, (), 1, prefix=np.ones(shape, "int32"))

    @pytest.mark.parametrize(
        ("prefix", "message"),
        [
            (
                np.ones((1, 3), "int32"),
                r"one row for each.*np.repeat\(prefix, 2",
            ),
            (
                np.ones((3, 3), "int32"),
                r"each source, here \(2, P\).*=\(3, 3\)",
            ),
            (np.array([[4.5], [5.0]]), "integers.*dtype=float"),
            (np.array([[True], [False]]), "integers.*dtype=bool"),
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
        with pytest.raises(
            ValueError, match=r"`memory_mask` must.*here \(2, Tv\)"
        ):
            BeamSearch(2, coverage_penalty=0.1)(
                never, (), 2, memory_mask=np.ones(shape, "bool")
            )

    def test_base_says_what_a_search_must_define(self):
        with pytest.raises(NotImplementedError, match="define `call"):
            AbstractSearch()(never, (), 1)


@pytest.mark.parametrize("name", SEARCHES)
class TestOptions:
    def test_they_are_the_config(self, name):
        arguments = {**SEARCHES[name], **OPTIONS}
        made = getattr(search, name)(**arguments)
        assert made.get_config() == arguments
        config = keras.saving.serialize_keras_object(made)
        assert config["registered_name"] == f"keras_attention>{name}"
        revived = keras.saving.deserialize_keras_object(config)
        assert isinstance(revived, type(made))
        assert revived.get_config() == arguments


@pytest.mark.parametrize("log_probs", [np.nan, -np.inf])
@pytest.mark.parametrize(
    "search", [GreedySearch(), BeamSearch(3, n_best=2), Sampling(seed=1)]
)
def test_a_row_without_a_text_is_told_once(search, log_probs):
    def step(tokens, state):
        table = ops.ones((*tokens.shape, 5))
        bad = np.array([[1.0], [log_probs]])[..., None]
        return table * bad, state, None

    with pytest.warns(
        UserWarning, match="no hypothesis for 1 of 2.* row 1"
    ) as told:
        found = search(step, (), 2)
    assert [x.category for x in told].count(UserWarning) == 1
    assert np.isneginf(ops.convert_to_numpy(found.scores)[1]).all()
    assert not ops.convert_to_numpy(found.tokens)[1].any()
