"""GreedySearch: equal to brute force on tables, in every way of running it."""

import keras
import numpy as np
import pytest
from keras import ops
from tables import first_order
from tables import random_tables
from tables import rows_state
from tables import second_order

from keras_attention.search import Generation
from keras_attention.search import GreedySearch

BACKEND = keras.backend.backend()
START, END = 2, 3


def greedy(row_table, weights=None, order=1, max_length=100, min_length=1):
    """One row, in NumPy: what the definition says, word by word."""
    before, last, tokens, score, attended = START, START, [], 0.0, []
    while len(tokens) < max_length and END not in tokens:
        index = (last,) if order == 1 else (before, last)
        log_p = row_table[index].copy()
        if len(tokens) + 1 < min_length:
            log_p[END] = -np.inf
        if weights is not None:
            attended.append(weights[last])
        before, last = last, int(np.argmax(log_p))
        tokens.append(last)
        score += log_p[last]
    return tokens, score, attended


def arrays(found):
    return Generation(
        *[None if x is None else ops.convert_to_numpy(x) for x in found]
    )


def check(found, tables, weights=None, rtol=1e-9, **limits):
    found = arrays(found)
    width = found.tokens.shape[-1]
    for b, table in enumerate(tables):
        paid = None if weights is None else weights[b]
        tokens, score, attended = greedy(table, paid, **limits)
        n = len(tokens)
        padded = tokens + [0] * (width - n)
        np.testing.assert_array_equal(found.tokens[b], [padded])
        np.testing.assert_array_equal(found.lengths[b], [n])
        np.testing.assert_allclose(found.scores[b], [score], rtol=rtol)
        if weights is not None:
            np.testing.assert_allclose(found.weights[b, 0, :n], attended)
            assert (found.weights[b, 0, n:] == 0).all()


class TestAgainstBruteForce:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("order", [1, 2])
    def test_random_tables(self, seed, order):
        tables, weights = random_tables(order, seed, rows=8)
        step = (first_order, second_order)[order - 1](tables, weights)
        found = GreedySearch(max_length=12)(step, rows_state(range(8)), 8)
        check(found, tables, weights, order=order, max_length=12)
        assert len(set(arrays(found).lengths.ravel())) > 1

    @pytest.mark.parametrize("min_length", [2, 3, 7])
    def test_no_end_before_the_minimum(self, min_length):
        tables, _ = random_tables(1, 5, rows=8)
        tables[:, :, END] += 2  # ends at once if it may
        limits = {"max_length": 7, "min_length": min_length}
        search = GreedySearch(**limits)
        found = search(first_order(tables), rows_state(range(8)), 8)
        check(found, tables, **limits)
        assert (arrays(found).lengths >= min_length).all()
        assert arrays(found).lengths.min() == min_length

    @pytest.mark.parametrize("max_length", [1, 2, 5])
    def test_a_text_cut_off_keeps_its_score(self, max_length):
        tables, weights = random_tables(1, 1, rows=4)
        tables[:, :, END] = -np.inf
        search = GreedySearch(max_length=max_length)
        step = first_order(tables, weights)
        found = search(step, rows_state(range(4)), 4)
        check(found, tables, weights, max_length=max_length)
        assert (arrays(found).lengths == max_length).all()

    def test_other_ids_for_start_and_end(self):
        table = np.full((1, 5, 5), -np.inf)
        table[0, 4, 1] = table[0, 1, 2] = table[0, 2, 4] = -1.0
        search = GreedySearch(max_length=6, start_id=4, end_id=4)
        found = arrays(search(first_order(table), rows_state([0]), 1))
        assert found.tokens.tolist() == [[[1, 2, 4, 0, 0, 0]]]
        assert found.scores.tolist() == [[-3.0]]


class TestRows:
    def test_order_of_the_batch_does_not_matter(self):
        tables, weights = random_tables(2, 3, rows=6)
        step, search = second_order(tables, weights), GreedySearch(10)
        one = arrays(search(step, rows_state(range(6)), 6))
        order = [4, 0, 5, 2, 1, 3]
        other = arrays(search(step, rows_state(order), 6))
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x[order], y)

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

    @pytest.mark.skipif(BACKEND != "tensorflow", reason="what serving may get")
    def test_no_rows(self):
        tables, weights = random_tables(1, 0)
        step = first_order(tables, weights)
        found = arrays(GreedySearch(5)(step, rows_state([]), 0))
        shapes = [x.shape for x in found]
        assert shapes == [(0, 1, 5), (0, 1), (0, 1), (0, 1, 5, 4)]


class TestStates:
    def test_a_language_model_needs_neither_state_nor_source(self):
        table = np.log(np.roll(np.eye(6) + 0.01, 1, axis=1))  # 2 3 after 2

        def step(tokens, state):
            assert state == ()
            return ops.take(table, tokens, axis=0), state, None

        found = GreedySearch(end_id=1, max_length=9)(step, (), 1)
        assert arrays(found).tokens.tolist() == [[[3, 4, 5, 0, 1, 0, 0, 0, 0]]]
        assert found.weights is None

    def test_a_counter_counts(self):
        def step(_, state):
            (count,) = state
            scores = -ops.abs(ops.arange(9, dtype="float32") - count[..., None])
            return scores, [count + 1.0], None

        counts = np.array([[4.0], [5.0], [3.0]], "float32")
        found = arrays(GreedySearch(4)(step, [counts], 3))
        assert found.tokens[:, 0].tolist() == [
            [4, 5, 6, 7],
            [5, 6, 7, 8],
            [3, 0, 0, 0],
        ]

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


@pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function")
class TestInATensorFlowGraph:
    @pytest.mark.slow
    @pytest.mark.parametrize("xla", [False, True])
    @pytest.mark.parametrize("max_length", [1, 9])
    def test_any_batch_and_any_source(self, xla, max_length):
        import tensorflow as tf

        @tf.function(
            autograph=False,
            jit_compile=xla,
            input_signature=[
                tf.TensorSpec((None, 6, 6), "float64"),
                tf.TensorSpec((None, 6, None), "float64"),
            ],
        )
        def search(table, weights):
            rows = tf.range(tf.shape(table)[0])[:, None]

            def step(tokens, row):
                here = tf.concat([row, tokens], axis=1)
                log_probs = tf.gather_nd(table, here)[:, None]
                return log_probs, row, tf.gather_nd(weights, here)[:, None]

            return GreedySearch(max_length)(step, rows, tf.shape(table)[0])

        for rows, words in ((3, 4), (1, 7)):
            tables, weights = random_tables(1, rows, rows=rows, words=words)
            found = search(tables, weights)
            check(found, tables, weights, max_length=max_length)
        assert len(search._list_all_concrete_functions()) == 1

    def test_one_row_beside_a_batch_of_unknown_size(self):
        import tensorflow as tf

        @tf.function(
            autograph=False,
            input_signature=[tf.TensorSpec((None, 6, 6), "float64")],
        )
        def search(table):
            def step(tokens, state):
                return tf.gather(table, tokens, batch_dims=1), state, None

            return GreedySearch(5)(step, (), 1)

        tables, _ = random_tables(1, 0)
        check(search(tables), tables, max_length=5)


@pytest.mark.skipif(BACKEND != "jax", reason="jax.jit")
def test_under_jax_jit():
    import jax

    @jax.jit
    def search(table, weights, state):
        step = second_order(table, weights)
        return GreedySearch(9, min_length=2)(step, state, 4)

    tables, weights = random_tables(2, 2, rows=4)
    state = {k: v for k, v in rows_state(range(4)).items() if k != "no"}
    found = search(tables, weights, state)
    check(found, tables, weights, order=2, max_length=9, min_length=2)
