"""GreedySearch: equal to brute force on tables, in every way of running it."""

import keras
import numpy as np
import pytest
from keras import ops
from tables import arrays
from tables import first_order
from tables import random_tables
from tables import rows_state

from keras_attention.search import GreedySearch

BACKEND = keras.backend.backend()
START, END = 2, 3


class TestAgainstBruteForce:
    def test_other_ids_for_start_and_end(self):
        table = np.full((1, 5, 5), -np.inf)
        table[0, 4, 1] = table[0, 1, 2] = table[0, 2, 4] = -1.0
        search = GreedySearch(max_length=6, start_id=4, end_id=4)
        found = arrays(search(first_order(table), rows_state([0]), 1))
        assert found.tokens.tolist() == [[[1, 2, 4, 0, 0, 0]]]
        assert found.scores.tolist() == [[-3.0]]


class TestRows:
    def test_an_ended_row_is_safe_from_what_its_steps_give(self):
        """After the end, this table knows only NaN."""
        table = np.full((2, 6, 6), -np.inf)
        table[0, START, END] = table[1, START, 4] = -0.5
        table[1, 4, 5] = table[1, 5, END] = -0.5
        table[0, END] = np.nan
        weights = np.ones((2, 6, 3))
        weights[:, END] = np.nan
        step = first_order(table, weights)
        found = arrays(GreedySearch(5)(step, rows_state([0, 1]), 2))
        assert found.tokens[:, 0].tolist() == [[3, 0, 0, 0, 0], [4, 5, 3, 0, 0]]
        assert found.scores.tolist() == [[-0.5], [-1.5]]
        assert found.weights[:, 0, :, 0].tolist() == [
            [1, 0, 0, 0, 0],
            [1, 1, 1, 0, 0],
        ]

    @pytest.mark.skipif(BACKEND == "jax", reason="it traces, and counts once")
    def test_stops_when_the_last_row_ends(self):
        tables, _ = random_tables(1, 0, rows=8)
        tables[:, 4, END] = tables[:, START, END] = 9.0  # there is a way out
        tables[1:4, :, 4] = 8.0
        model, calls = first_order(tables), []

        def step(tokens, state):
            calls.append(tokens)
            return model(tokens, state)

        found = GreedySearch(50)(step, rows_state(range(8)), 8)
        assert len(calls) == arrays(found).lengths.max() < 50

    @pytest.mark.skipif(BACKEND == "jax", reason="it traces, and sees no ids")
    def test_an_ended_row_is_stepped_on_end_tokens(self):
        table = np.full((2, 6, 6), -np.inf)
        table[0, START, END] = table[0, END, 1] = 0.0
        table[1, START, 4] = table[1, 4, 5] = table[1, 5, END] = 0.0
        model, seen = first_order(table), []

        def step(tokens, state):
            seen.append(ops.convert_to_numpy(tokens)[:, 0].tolist())
            return model(tokens, state)

        GreedySearch(9)(step, rows_state([0, 1]), 2)
        assert seen == [[START, START], [END, 4], [END, 5]]


class TestStates:
    def test_the_first_step_may_settle_the_dtype(self):
        def step(_, state):
            state = ops.cast(state, "float16") + 1
            scores = ops.one_hot(ops.cast(state, "int32"), 9)
            return scores, state, None

        found = GreedySearch(3)(step, np.array([[3.0]], "float32"), 1)
        assert arrays(found).tokens.tolist() == [[[4, 5, 6]]]


class TestDtypes:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_adds_up_in_float32(self, dtype):
        def step(_, state):
            log_probs = ops.cast([[[-4.0, -0.03125, -5.0, -5.0]]], dtype)
            return log_probs, state, ops.cast([[[0.5, 0.5]]], dtype)

        found = GreedySearch(100)(step, (), 1)
        assert ops.dtype(found.scores) == "float32"
        assert ops.dtype(found.weights) == dtype
        assert arrays(found).scores.tolist() == [[-3.125]]

    def test_float64_stays(self):
        tables, weights = random_tables(1, 0)
        found = GreedySearch(5)(
            first_order(tables, weights), rows_state([0]), 1
        )
        assert ops.dtype(found.scores) == "float64"
        assert ops.dtype(found.tokens) == "int32"
        assert ops.dtype(found.lengths) == "int32"
