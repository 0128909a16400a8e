"""constraints: what may come next, asked directly and of every search."""

import numpy as np
import pytest
from keras import ops
from naive import Row
from naive import Rules
from naive import check_texts
from tables import arrays
from tables import history_tables
from tables import root_state
from tables import whole_history

from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import Sampling
from keras_attention.search import ban

SEARCHES = {
    "greedy": GreedySearch,
    "beam": lambda **options: BeamSearch(3, **options),
    "top_k=1": lambda **options: Sampling(top_k=1, **options),
}
every_search = pytest.mark.parametrize("name", SEARCHES)


def test_ban_leaves_all_others_as_they_are():
    log_probs = -np.arange(6.0).reshape(1, 2, 3)
    for ids in ([0, 2], np.array([2, 0, 7, -1], "int32")):
        got = ban(ops.convert_to_tensor(log_probs), ids)
        want = [[[-np.inf, -1, -np.inf], [-np.inf, -4, -np.inf]]]
        assert ops.convert_to_numpy(got).tolist() == want


def run(name, prefix=None, rows=6, tables=None, n_best=None, **options):
    tables = history_tables(3, rows=rows) if tables is None else tables
    rules = Rules(**options)
    if n_best:
        search = BeamSearch(3, n_best=n_best, **rules.common)
    else:
        search = SEARCHES[name](**rules.common)
    if prefix is not None:
        prefix = np.array(prefix, "int32")
    state = root_state(range(rows))
    found = arrays(search(whole_history(*tables), state, rows, prefix=prefix))
    for b in range(rows):
        forced = () if prefix is None else prefix[b]
        row = Row(tables[0][b], tables[1][b], rules, forced)
        size = 3 if name == "beam" else 1
        check_texts(found, b, row.beam(size))
    return found


@every_search
class TestEverySearch:
    @pytest.mark.parametrize("size", [1, 2])
    def test_no_ngram_twice(self, name, size):
        found = run(name, no_repeat_ngram_size=size, rows=32)
        plain = run(name, rows=32)
        assert (found.tokens != plain.tokens).any()
        for text, n in zip(found.tokens, found.lengths, strict=True):
            last = int(n[0]) - size + 1
            grams = [tuple(text[0, i : i + size]) for i in range(last)]
            assert len(set(grams)) == len(grams)

    def test_forbidden_ids_never_come(self, name):
        found = run(name, forbidden_ids=(1, 2), rows=16)
        real = np.arange(4) < found.lengths[..., None]
        assert not np.isin(found.tokens[real], [1, 2]).any()

    def test_rows_begin_with_their_prefix(self, name):
        prefix = [[1, 2, 1], [2, 0, 0], [0, 0, 0], [1, 1, 0], [2, 2, 2]]
        found = run(name, prefix, rows=5)
        for b, ids in enumerate(prefix):
            size = np.count_nonzero(ids)
            assert found.tokens[b, 0, :size].tolist() == ids[:size]
        free = run(name, rows=5)
        np.testing.assert_array_equal(found.tokens[2], free.tokens[2])

    def test_a_prefix_overrides_what_is_forbidden(self, name):
        options = {"forbidden_ids": (1,), "no_repeat_ngram_size": 1}
        found = run(name, [[1, 1], [2, 2]], rows=2, **options)
        assert found.tokens[:, 0, :2].tolist() == [[1, 1], [2, 2]]

    def test_an_end_in_the_prefix_ends_the_text(self, name):
        found = run(name, [[1, 3, 2], [3, 0, 0]], rows=2, min_length=4)
        assert found.tokens[:, 0].tolist() == [[1, 3, 0, 0], [3, 0, 0, 0]]
        assert found.lengths[:, 0].tolist() == [2, 1]

    def test_a_prefix_is_cut_at_the_longest_text(self, name):
        found = run(name, [[1, 2, 1, 2, 1, 2]] * 2, rows=2)
        assert found.tokens[:, 0].tolist() == [[1, 2, 1, 2]] * 2

    def test_an_empty_prefix_forces_nothing(self, name):
        for x, y in zip(run(name, np.zeros((6, 0))), run(name), strict=True):
            np.testing.assert_array_equal(x, y)

    @pytest.mark.parametrize("token", [4, 1000, -1])
    def test_a_prefix_of_unknown_ids_does_not_exist(self, name, token):
        tables = history_tables(0, rows=2)
        search = SEARCHES[name](max_length=4, no_repeat_ngram_size=1)
        prefix = np.array([[2, token], [2, 1]], "int32")
        step, state = whole_history(*tables), root_state([0, 1])
        found = arrays(search(step, state, 2, prefix=prefix))
        check_texts(found, 0, [])
        assert found.tokens[1, 0, :2].tolist() == [2, 1]

    def test_a_prefix_the_model_excludes_does_not_exist(self, name):
        log_probs, weights = history_tables(0, rows=2)
        log_probs[0, 0, 1] = -np.inf
        found = run(name, [[1], [1]], rows=2, tables=(log_probs, weights))
        check_texts(found, 0, [])

    @pytest.mark.parametrize("value", [-np.inf, np.nan])
    def test_a_row_of_no_numbers_does_not_exist(self, name, value):
        log_probs, weights = history_tables(0, rows=2)
        log_probs[1] = value
        search = SEARCHES[name](max_length=4)
        step = whole_history(log_probs, weights)
        found = arrays(search(step, root_state([0, 1]), 2))
        check_texts(found, 1, [])
        assert found.lengths[0, 0] > 0

    def test_where_nothing_is_allowed_there_is_no_text(self, name):
        """Three tokens before an end, but only two that are not it."""
        options = {"forbidden_ids": (0,), "no_repeat_ngram_size": 1}
        found = run(name, min_length=4, **options)
        assert (found.lengths == 0).all()
        for b in range(6):
            check_texts(found, b, [])

    @pytest.mark.tensorflow  # what serving may get
    def test_no_rows(self, name):
        step = whole_history(*history_tables(0))
        found = arrays(SEARCHES[name](max_length=4)(step, root_state([]), 0))
        shapes = [x.shape for x in found]
        text = 0, 1, 4
        assert shapes == [text, (0, 1), (0, 1), (*text, 3), text]


def test_beams_go_apart_after_the_prefix():
    found = run("beam", [[1, 2]] * 6, n_best=3)
    assert (found.tokens[:, :, :2] == [1, 2]).all()
    assert len({tuple(text) for text in found.tokens[0].tolist()}) == 3


def test_a_prefix_may_leave_gaps():
    """A 0 forces nothing, wherever it stands."""
    prefix = np.array([[0, 1, 0, 2]], "int32")
    step = whole_history(*history_tables(4))
    search = GreedySearch(4, min_length=4)
    found = arrays(search(step, root_state([0]), 1, prefix=prefix))
    assert found.tokens[0, 0, [1, 3]].tolist() == [1, 2]
