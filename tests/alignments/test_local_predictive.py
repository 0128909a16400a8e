"""LocalPredictive: what the contract cannot know about it."""

import numpy as np
from contracts.alignment import AlignmentContract

from keras_attention import LocalPredictive


class TestLocalPredictive(AlignmentContract):
    alignment_class = LocalPredictive
    alignment_kwargs = {"window": 2}
    dense = False

    def reference_align(self, scores, mask, real, query, weights):
        hidden = np.tanh(query @ weights["position_kernel"])
        share = 1 / (1 + np.exp(-hidden @ weights["position_vector"]))
        centre = real.sum() * share[:, None]
        distance = np.arange(len(real)) - centre
        mask = mask & (abs(distance) <= 2)
        softmax = super().reference_align(scores, mask, real, query, weights)
        return softmax * np.exp(-(distance**2) / (2 * (2 / 2) ** 2))

    def test_starts_in_the_middle(self):
        query, value = self.inputs(words=8)
        layer = self.layer(alignment=LocalPredictive(1))
        _, weights = self.run(layer, 0 * query, value)
        assert (weights[:, :, [0, 1, 2, 6, 7]] == 0).all()
        assert (weights[:, :, 4] > weights[:, :, 3]).all()

    def test_the_window_follows_the_prediction(self):
        query, value = self.inputs(words=8)
        layer = self.trained()
        layer.alignment.position_kernel.assign(np.eye(3))
        layer.alignment.position_vector.assign(np.full(3, 9.0))
        _, weights = self.run(layer, 1 + 0 * query, value)
        assert (weights[:, :, :6] == 0).all()
        assert (weights[:, :, 7] > 0).all()
