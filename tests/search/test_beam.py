"""BeamSearch: equal to the definition, in every way of asking and running."""

import keras
import numpy as np
import pytest
from keras import ops
from naive import Row
from naive import Rules
from naive import check_texts
from tables import arrays
from tables import first_order
from tables import history_tables
from tables import random_tables
from tables import root_state
from tables import rows_state
from tables import second_order
from tables import whole_history
from tiers import some

from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import beam

BACKEND = keras.backend.backend()
END = 3
SETTINGS = {
    "both": {"length_penalty": 1.0, "coverage_penalty": 0.2},
    "favour short": {"length_penalty": -1.5},
    "forbidden": {"forbidden_ids": (1,), "coverage_penalty": 0.2},
    "no token twice": {"no_repeat_ngram_size": 1, "min_length": 2},
    "no bigram twice": {"no_repeat_ngram_size": 2},
    "plain": {},
    "length": {"length_penalty": 0.6},
    "much length": {"length_penalty": 3.0},
    "coverage": {"coverage_penalty": 0.4},
    "minimum": {"min_length": 3, "length_penalty": 0.6},
    "cut off": {"max_length": 2, "length_penalty": 0.6},
    "one token": {"max_length": 1},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)
ROWS, LENGTH, WORDS = 32, 4, 3


def search_tables(tables, rules, mask=None, prefix=None, rows=None, **options):
    """Search every row of history tables, or these."""
    rows = range(len(tables[0])) if rows is None else rows
    search = BeamSearch(
        length_penalty=rules.length_penalty,
        coverage_penalty=rules.coverage_penalty,
        **rules.common,
        **options,
    )
    step = whole_history(*tables)
    return arrays(search(step, root_state(rows), len(rows), mask, prefix))


def draw(setting, seed=0, classes=4, rows=ROWS):
    """Tables in which some tokens cannot come, a mask, and prefixes."""
    rules = Rules(**{"max_length": LENGTH, **SETTINGS[setting]})
    rng = np.random.default_rng([seed, len(setting)])
    log_probs, weights = history_tables(
        [seed, len(setting)], rows, classes, LENGTH, WORDS
    )
    log_probs[rng.random(log_probs.shape) < 0.1] = -np.inf
    lengths = rng.integers(1, WORDS + 1, size=(rows, 1))
    mask = np.arange(WORDS) < lengths
    prefix = rng.integers(0, classes, size=(rows, 2), dtype="int32")
    prefix[prefix[:, 0] == 0, 1] = 0
    return rules, (log_probs, weights), mask, prefix


class TestAgainstTheDefinition:
    @every_setting
    @pytest.mark.parametrize("prefixed", some([True, False], 1))
    def test_many_beams_are_exhaustive(self, setting, prefixed):
        rules, tables, mask, prefix = draw(setting, seed=1, rows=8)
        prefix = prefix if prefixed else None
        size = 4**LENGTH
        found = search_tables(
            tables, rules, mask, prefix, beam_size=size, n_best=size
        )
        for b in range(8):
            forced = prefix[b] if prefixed else ()
            row = Row(tables[0][b], tables[1][b], rules, forced, mask[b])
            check_texts(found, b, row.exhaustive())

    @every_setting
    @pytest.mark.parametrize("size", some([3, 1, 7, 2], 2))
    def test_few_beams_find_what_they_should(self, setting, size):
        rules, tables, mask, prefix = draw(setting, seed=size)
        if size != 3:
            prefix[:] = 0
        found = search_tables(
            tables, rules, mask, prefix, beam_size=size, n_best=size
        )
        for b in range(ROWS):
            row = Row(tables[0][b], tables[1][b], rules, prefix[b], mask[b])
            check_texts(found, b, row.beam(size))

    def test_few_beams_do_miss_some(self):
        """Else the tests above would not tell one from the other."""
        rules, tables, mask, _ = draw("both", seed=2)
        found = search_tables(tables, rules, mask, beam_size=2)
        rows = [
            Row(*t, rules, (), m) for *t, m in zip(*tables, mask, strict=True)
        ]
        best = [row.exhaustive()[0].score for row in rows]
        assert 0 < (found.scores[:, 0] < np.array(best) - 1e-9).sum() < ROWS

    @pytest.mark.parametrize("prefixed", [False, True])
    def test_one_beam_is_greedy(self, prefixed):
        rules, tables, _, prefix = draw("no bigram twice", seed=3)
        prefix = prefix if prefixed else None
        step, state = whole_history(*tables), root_state(range(ROWS))
        one = BeamSearch(1, **rules.common)(step, state, ROWS, prefix=prefix)
        greedy = GreedySearch(**rules.common)(step, state, ROWS, prefix=prefix)
        for x, y in zip(arrays(one), arrays(greedy), strict=True):
            np.testing.assert_array_equal(x, y)

    def test_states_follow_their_beams(self):
        """A model of two tokens back, which every reordering must keep."""
        tables, weights = random_tables(2, 5, rows=6)
        search = BeamSearch(4, n_best=4, max_length=7, length_penalty=0.6)
        step = second_order(tables, weights)
        found = arrays(search(step, rows_state(range(6)), 6))
        for b, n in np.ndindex(6, 4):
            before, last, total = 2, 2, 0.0
            size = found.lengths[b, n]
            for t, token in enumerate(found.tokens[b, n, :size]):
                paid = found.weights[b, n, t]
                np.testing.assert_array_equal(paid, weights[b, last])
                total += tables[b, before, last, token]
                before, last = last, token
            want = total / ((5 + size) / 6) ** 0.6
            np.testing.assert_allclose(found.scores[b, n], want, rtol=1e-12)


def test_beams_share_what_the_step_captures():
    """The memory of a row is not copied for each of its beams."""
    tables, weights = random_tables(1, 0, rows=3)
    model, sizes = first_order(tables, weights), []

    def step(tokens, state):
        sizes.append(tuple(tokens.shape))
        assert tuple(state["row"].shape) == tuple(tokens.shape)
        return model(tokens, state)

    BeamSearch(4, max_length=5)(step, rows_state(range(3)), 3)
    assert sizes[0] == (3, 1)
    assert set(sizes[1:]) == {(3, 4)}


class TestStopping:
    @pytest.mark.slow
    @pytest.mark.parametrize("setting", some(SETTINGS, 9))
    def test_never_changes_a_result(self, setting, monkeypatch):
        rules, tables, mask, prefix = draw(setting, seed=4)
        for n_best in (1, 3):
            options = {"beam_size": 3, "n_best": n_best}
            early = search_tables(tables, rules, mask, prefix, **options)
            with monkeypatch.context() as patch:
                patch.setattr(beam, "may_improve", lambda *_: True)
                late = search_tables(tables, rules, mask, prefix, **options)
            for x, y in zip(early, late, strict=True):
                np.testing.assert_array_equal(x, y)

    def count_steps(self, rows, size=2, **options):
        tables, _ = random_tables(1, 0, rows=8)
        tables[...] = -9.0
        tables[..., END] = -0.5  # one token
        tables[1:, 2, 4] = tables[1:, 4, 5] = -0.01
        tables[1:, 5, END] = -0.1  # 4 5 END: three
        model, calls = first_order(tables), []

        def step(tokens, state):
            calls.append(tokens)
            return model(tokens, state)

        search = BeamSearch(size, max_length=20, **options)
        found = arrays(search(step, rows_state(rows), len(rows)))
        return len(calls), found.lengths[:, 0].tolist()

    @pytest.mark.skipif(BACKEND == "jax", reason="it traces, and counts once")
    def test_stops_when_the_best_is_certain(self):
        assert self.count_steps([0]) == (1, [1])
        assert self.count_steps([1]) == (3, [3])
        assert self.count_steps([0, 1, 0]) == (3, [1, 3, 1])

    @pytest.mark.skipif(BACKEND == "jax", reason="it traces, and counts once")
    def test_goes_on_while_something_may_improve(self):
        """A long text may still make up for what it has lost."""
        steps, lengths = self.count_steps([0], size=4, length_penalty=3.0)
        assert steps > 1
        assert lengths == [1]
        assert self.count_steps([0], size=4, n_best=3)[0] > 1


@pytest.mark.parametrize("power", [-0.5, -1.0, -3.0])
def test_what_favours_short_texts_goes_on_to_an_end(power):
    """The empty text is the best of all, and a word without an end is first."""
    log_probs = np.log([1e-30, 0.51, 1e-30, 0.49, 1e-30])
    step = first_order(np.tile(log_probs, (1, 5, 1)))
    search = BeamSearch(3, max_length=4, length_penalty=power)
    found = search(step, rows_state([0]), 1)
    assert np.asarray(ops.convert_to_numpy(found.tokens))[0, 0].tolist() == [
        *(3, 0, 0, 0)
    ]
    score = float(ops.convert_to_numpy(found.scores)[0, 0])
    np.testing.assert_allclose(score, np.log(0.49), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"length_penalty": 1e6}, "length_penalty=1000000.0, max_length=100"),
        ({"length_penalty": -1e6}, "Usual values are 0.6 to 1"),
        ({"length_penalty": np.nan}, "`length_penalty` must be a finite"),
        ({"coverage_penalty": 1e300}, "`coverage_penalty`.*at most 1e"),
        ({"coverage_penalty": np.inf}, "`coverage_penalty`"),
        ({"max_length": 10**12}, "`max_length`.*at most 16777216"),
        ({"beam_size": 10**9}, "`beam_size`.*at most 167772"),
        ({"beam_size": 10**7, "max_length": 2}, "`beam_size`.*at most 8388608"),
    ],
)
def test_refuses_numbers_that_nobody_means(options, word):
    with pytest.raises(ValueError, match=word):
        BeamSearch(**{"beam_size": 5, **options})


class TestCoverage:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", some(["float16", "bfloat16"], 1))
    def test_adds_up_in_float32(self, dtype):
        def step(tokens, state):
            log_probs = ops.zeros((*ops.shape(tokens), 4), dtype)
            share = ops.full((*ops.shape(tokens), 2), 0.01, dtype)
            return log_probs, state, share

        search = BeamSearch(
            1, coverage_penalty=1.0, max_length=90, min_length=90
        )
        found = search(step, (), 1)
        assert ops.dtype(found.weights) == dtype
        share = ops.cast(ops.convert_to_tensor(0.01, dtype), "float32")
        want = 2 * np.log(90 * ops.convert_to_numpy(share))
        np.testing.assert_allclose(arrays(found).scores, want, rtol=1e-5)

    def test_needs_weights(self):
        tables = history_tables(0)
        with pytest.raises(ValueError, match="`coverage_penalty` needs a step"):
            search_tables(
                (tables[0], None), Rules(coverage_penalty=1.0), beam_size=3
            )


class TestRows:
    def test_order_and_size_of_the_batch_do_not_matter(self):
        rules, tables, mask, prefix = draw("both", seed=6)
        options = {"beam_size": 3, "n_best": 2}
        every = search_tables(tables, rules, mask, prefix, **options)
        for rows in ([7, 3, 30, 3], [5], [30, 7]):
            some = search_tables(
                tables, rules, mask[rows], prefix[rows], rows, **options
            )
            for x, y in zip(every, some, strict=True):
                np.testing.assert_array_equal(x[rows], y)

    @pytest.mark.skipif(BACKEND == "torch", reason="its top_k takes any")
    def test_in_a_tie_the_smaller_id_of_the_better_beam_wins(self):
        def step(tokens, state):
            return ops.zeros((*ops.shape(tokens), 6)), state, None

        search = BeamSearch(4, n_best=4, max_length=3, min_length=3)
        found = arrays(search(step, (), 2))
        want = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]]
        assert found.tokens.tolist() == [want, want]
        assert (found.lengths == 3).all()

    def test_an_ended_beam_is_safe_from_what_its_steps_give(self):
        tables, weights = history_tables(2, rows=8)
        want = search_tables((tables, weights), Rules(), beam_size=3, n_best=3)
        for node in range(1, 85):
            path, above = [], node
            while above:
                path.append((above - 1) % 4)
                above = (above - 1) // 4
            if END in path:
                tables[:, node] = weights[:, node] = np.nan
        rules = Rules(coverage_penalty=1e-15)
        for r in (Rules(), rules):
            got = search_tables((tables, weights), r, beam_size=3, n_best=3)
            np.testing.assert_array_equal(got.tokens, want.tokens)
            np.testing.assert_allclose(got.scores, want.scores, rtol=1e-12)
            np.testing.assert_array_equal(got.weights, want.weights)
