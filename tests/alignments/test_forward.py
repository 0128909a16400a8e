"""ForwardAlignment: what the contract cannot know about it."""

import numpy as np
import pytest
from contracts.alignment import AlignmentContract
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention import ForwardAlignment


class TestForwardAlignment(AlignmentContract):
    alignment_class = ForwardAlignment
    dense = False

    def reference_align(self, scores, mask, real, query, weights):
        """Algorithm 1: softmax first, then the product, then the sum."""
        before = np.eye(len(real))[0] * real[0]
        every = []
        for score, seen in zip(scores, mask, strict=True):
            y = np.exp(score - score.max()) * seen
            w = np.zeros(len(real))
            for n in range(len(real)):
                moved = before[n - 1] if n else 0
                w[n] = (before[n] + moved) * y[n]
            before = w / max(w.sum(), 1e-300)
            every.append(before)
        return np.array(every)

    def test_scores_out_of_reach_take_nothing(self):
        """Where softmax has nothing left in float32, the quotient has."""
        scores = np.array([[[0.0, 1.0, 500.0]]], "float32")
        state = (to_tensor(np.array([[[1.0, 0.0, 0.0]]], "float32")),)
        weights, _ = self.alignment().align(
            to_tensor(scores), None, state, None, None, None
        )
        share = 1 / (1 + np.e)
        np.testing.assert_allclose(
            to_numpy(weights), [[[share, 1 - share, 0]]], atol=1e-6
        )

    def test_little_mass_has_finite_gradients(self):
        """A quotient would divide by the square of 1e-25."""
        scores = np.array([[[-300.0, -300.0, 0.0, 0.0]]], "float32")
        before = np.array([[[1.0, 1e-25, 0.0, 0.0]]], "float32")

        def number(scores, before):
            weights, _ = self.alignment().align(
                scores, None, (before,), None, None, None
            )
            return ops.sum(weights * ops.arange(4, dtype=weights.dtype))

        value = number(to_tensor(scores), to_tensor(before))
        assert float(to_numpy(value)) == 2
        for slope in gradients(number, [scores, before]):
            assert np.isfinite(slope).all()


@pytest.mark.variant
class TestTransitionAgent(AlignmentContract):
    alignment_class = ForwardAlignment
    alignment_kwargs = {"transition_agent": True}
    dense = False
    test_save_and_load = None  # above, of the same class

    def reference_weights(self, query, key, mask, real, w):
        """Algorithm 2, one position at a time; the value is the key."""
        scores = self.reference_scores(query, key, w)
        before, u = np.eye(len(real))[0] * real[0], 0.5
        every = []
        for q, score, seen in zip(query, scores, mask, strict=True):
            y = np.exp(score - score.max()) * seen
            a = np.zeros(len(real))
            for n in range(len(real)):
                moved = before[n - 1] if n else 0
                a[n] = ((1 - u) * before[n] + u * moved) * y[n]
            before = a / max(a.sum(), 1e-300)
            every.append(before)
            values = np.where(real[:, None], key, 0)
            both = np.concatenate([q, before @ values])
            logit = both @ w["transition_kernel"][:, 0] + w["transition_bias"]
            u = 1 / (1 + np.exp(-logit[0]))
        return np.array(every)

    @pytest.mark.parametrize(("bias", "moves"), [(60.0, 1), (-60.0, 0)])
    def test_a_certain_agent_decides_alone(self, bias, moves):
        """After the first step, at which it is undecided."""
        query, value = self.inputs(steps=4, words=7)
        layer = self.layer()
        layer.build(query.shape, value.shape)
        layer.alignment.transition_bias.assign([bias])
        _, weights = self.run(layer, query, value)
        for t in range(3):
            moved = np.roll(weights[:, t] > 1e-12, moves, axis=-1)
            np.testing.assert_array_equal(weights[:, t + 1] > 1e-12, moved)
