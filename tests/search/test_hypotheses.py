"""hypotheses: how beams begin, move, and know that they are final."""

import numpy as np
import pytest
from keras import ops
from tables import first_order
from tables import random_tables
from tables import rows_state

from keras_attention.search import BeamSearch
from keras_attention.search.hypotheses import begin
from keras_attention.search.hypotheses import may_improve
from keras_attention.search.hypotheses import take_beams


class TestTakeBeams:
    @pytest.mark.parametrize("shape", [(), (4,), (4, 5)])
    @pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
    def test_takes_them_row_by_row(self, shape, dtype):
        rng = np.random.default_rng(0)
        x = (9 * rng.normal(size=(2, 3, *shape))).astype(dtype)
        index = np.array([[2, 0, 0, 1], [1, 1, 2, 0]], "int32")
        found = take_beams(
            ops.convert_to_tensor(x), ops.convert_to_tensor(index)
        )
        assert ops.dtype(found) == dtype
        want = np.stack([x[b, i] for b, i in enumerate(index)])
        np.testing.assert_array_equal(ops.convert_to_numpy(found), want)


class TestBegin:
    def test_one_beam_is_stepped_and_all_get_what_it_gave(self):
        seen = []

        def step(tokens, state):
            seen.append(ops.convert_to_numpy(tokens).tolist())
            log_probs = -ops.ones((2, 1, 5))
            return log_probs, {**state, "x": state["x"] + 1}, None

        state = {"x": np.array([[[1.0]], [[2.0]]], "float32"), "no": None}
        search = BeamSearch(3, start_id=4)
        beams, (log_probs, after, weights) = begin(search, step, state, 2)
        assert seen == [[[4], [4]]]
        assert tuple(log_probs.shape) == (2, 3, 5)
        got = ops.convert_to_numpy(after["x"])[..., 0].tolist()
        assert got == [[2, 2, 2], [3, 3, 3]]
        assert after["no"] is weights is None
        alive = ops.convert_to_numpy(beams.alive).tolist()
        assert alive == [[True, False, False]] * 2

    def test_beams_share_what_the_step_captures(self):
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


class TestMayImprove:
    """Two beams after one token, the first of them ended."""

    def improves(self, ended, growing, n_best=1, **options):
        step = first_order(np.zeros((1, 4, 4)))
        search = BeamSearch(2, n_best=n_best, max_length=10, **options)
        beams, _ = begin(search, step, rows_state([0]), 1)
        scores = np.array([[ended, growing]])
        beams = beams._replace(
            position=ops.ones((), "int32"),
            alive=ops.convert_to_tensor([[False, growing > -np.inf]]),
            sums=ops.convert_to_tensor(scores),
            scores=ops.convert_to_tensor(scores),
        )
        return bool(may_improve(search, beams))

    def test_not_if_a_sum_is_below(self):
        assert self.improves(-1.0, -0.9)
        assert not self.improves(-1.0, -1.1)

    def test_what_is_only_as_good_may_win_a_tie(self):
        assert self.improves(-1.0, -1.0)

    def test_a_longer_text_is_divided_by_more(self):
        assert self.improves(-1.0, -2.4, length_penalty=1.0)  # 15 / 6
        assert not self.improves(-1.0, -2.6, length_penalty=1.0)

    def test_or_by_less(self):
        """The bound of what favours short texts is the next length."""
        assert self.improves(-1.0, -0.8, length_penalty=-1.0)  # 7 / 6
        assert not self.improves(-1.0, -0.9, length_penalty=-1.0)

    def test_until_there_are_as_many_as_asked_for(self):
        assert self.improves(-1.0, -99.0, n_best=2)

    def test_nothing_that_is_left_cannot(self):
        for n_best in (1, 2):
            assert not self.improves(-1.0, -np.inf, n_best)
            assert not self.improves(-np.inf, -np.inf, n_best)
