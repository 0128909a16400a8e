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
