"""hypotheses: how beams begin, and how the best of them go on."""

import numpy as np
import pytest
from keras import ops
from tables import first_order
from tables import random_tables
from tables import rows_state

from keras_attention.search import BeamSearch
from keras_attention.search import Candidates
from keras_attention.search import begin_beams
from keras_attention.search import select_beams
from keras_attention.search import take_beams


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
        beams, (log_probs, after, weights) = begin_beams(search, step, state, 2)
        assert seen == [[[4], [4]]]
        assert tuple(log_probs.shape) == (2, 3, 5)
        got = ops.convert_to_numpy(after["x"])[..., 0].tolist()
        assert got == [[2, 2, 2], [3, 3, 3]]
        assert after["no"] is weights is None
        alive = ops.convert_to_numpy(beams.alive).tolist()
        assert alive == [[True, False, False]] * 2

    def test_every_group_has_one_alive(self):
        step, search = first_order(np.zeros((1, 4, 4))), BeamSearch(6)
        beams, _ = begin_beams(search, step, rows_state([0]), 1, groups=3)
        alive = ops.convert_to_numpy(beams.alive).tolist()
        assert alive == [[True, False, True, False, True, False]]
        sums = ops.convert_to_numpy(beams.sums)
        assert sums.tolist() == [[0, -np.inf, 0, -np.inf, 0, -np.inf]]

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


class TestSelectBeams:
    def test_what_belongs_to_a_beam_follows_it(self):
        """Two beams of a row, and both places go to the second."""
        step = first_order(np.log(np.full((1, 4, 4), 0.25)), np.ones((1, 4, 2)))
        search = BeamSearch(2, max_length=3)
        beams, found = begin_beams(search, step, rows_state([0]), 1)
        state = {"mine": ops.convert_to_tensor([[10, 20]])}
        weights = ops.convert_to_tensor([[[0.5, 0.5], [0.1, 0.9]]])
        beams = beams._replace(
            alive=ops.ones((1, 2), "bool"),
            tokens=ops.convert_to_tensor([[[0, 0, 0], [1, 0, 0]]]),
            lengths=ops.convert_to_tensor([[1, 7]]),
            position=ops.convert_to_tensor(1, "int32"),
        )
        candidates = Candidates(
            ids=ops.convert_to_tensor([[[0, 1], [2, 3]]]),
            sums=ops.convert_to_tensor([[[-1.0, -2.0], [-3.0, -4.0]]]),
            scores=ops.convert_to_tensor([[[-5.0, -6.0], [-7.0, -8.0]]]),
        )
        best = ops.convert_to_tensor([[3, 2]], "int32")
        found = (found[0], state, weights)
        kept = select_beams(search, beams, found, candidates, best)
        got = {
            name: ops.convert_to_numpy(value).tolist()
            for name, value in kept._asdict().items()
            if name not in ("state", "coverage", "weights", "token_scores")
        }
        assert got == {
            "position": 2,
            "words": [[3, 2]],  # 3 is the end
            "alive": [[False, True]],
            "sums": [[-4.0, -3.0]],
            "scores": [[-8.0, -7.0]],
            "lengths": [[8, 8]],
            "tokens": [[[1, 3, 0], [1, 2, 0]]],
        }
        mine = ops.convert_to_numpy(kept.state["mine"])
        assert mine.tolist() == [[20, 20]]
        paid = ops.convert_to_numpy(kept.weights)[0, :, 1]
        np.testing.assert_allclose(paid, [[0.1, 0.9]] * 2)
        gains = ops.convert_to_numpy(kept.token_scores)
        np.testing.assert_allclose(gains, [[[0, np.log(0.25), 0]] * 2])
        assert kept.coverage is None
