"""path: what holds whichever token is chosen."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.search import GreedySearch
from keras_attention.search import follow_path


def least_likely(log_probs, _):
    _, words = ops.top_k(-log_probs, 1)
    return ops.cast(words[..., 0], "int32")


def constant(probabilities, weights=None):
    def step(tokens, state):
        shape = (*ops.shape(tokens), len(probabilities))
        log_probs = ops.broadcast_to(np.log(probabilities), shape)
        return log_probs, state, weights

    return step


class TestFollowPath:
    def test_takes_what_is_chosen_and_scores_what_the_model_says(self):
        search = GreedySearch(max_length=3)
        step = constant([0.2, 0.1, 0.3, 0.4])
        found = follow_path(search, least_likely, step, (), 2)
        tokens = ops.convert_to_numpy(found.tokens)
        np.testing.assert_array_equal(tokens, [[[1, 1, 1]]] * 2)
        scores = ops.convert_to_numpy(found.scores)
        np.testing.assert_allclose(scores, 3 * np.log(0.1), rtol=1e-6)

    def test_choice_sees_position_and_forbidden_end(self):
        def first_choice(**limits):
            seen = []

            def choose(log_probs, position):
                seen.append((position, ops.isinf(log_probs)[..., 3]))
                return least_likely(log_probs, position)

            step = constant([0.1, 0.1, 0.1, 0.7])
            follow_path(GreedySearch(**limits), choose, step, (), 1)
            return int(seen[0][0]), bool(seen[0][1])

        assert first_choice(max_length=2) == (0, False)
        assert first_choice(max_length=2, min_length=2) == (0, True)

    def test_refuses_weights_that_come_and_go(self):
        calls = []

        def step(tokens, state):
            calls.append(tokens)
            weights = ops.ones((1, 1, 2)) if len(calls) > 1 else None
            return ops.zeros((1, 1, 5)), state, weights

        with pytest.raises(ValueError, match="`None` either always or never"):
            follow_path(GreedySearch(), least_likely, step, (), 1)

    @pytest.mark.skipif(
        keras.backend.backend() == "jax", reason="it traces, and counts once"
    )
    def test_stops_where_there_is_no_text(self):
        calls = []

        def step(tokens, state):
            calls.append(tokens)
            return ops.full((2, 1, 5), -np.inf), state, None

        found = follow_path(GreedySearch(), least_likely, step, (), 2)
        assert len(calls) == 1
        scores = ops.convert_to_numpy(found.scores)
        assert scores.tolist() == [[-np.inf]] * 2
