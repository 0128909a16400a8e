"""LocalMonotonic: what the contract cannot know about it."""

import numpy as np
from contracts.alignment import AlignmentContract

from keras_attention import LocalMonotonic


class TestLocalMonotonic(AlignmentContract):
    alignment_class = LocalMonotonic
    alignment_kwargs = {"window": 1}
    dense = False

    def reference_align(self, scores, mask, real, query, weights):
        steps, words = np.indices(scores.shape)
        mask = mask & (abs(steps - words) <= 1)
        return super().reference_align(scores, mask, real, query, weights)

    def test_an_empty_window_gives_zeros(self):
        query, value = self.inputs(steps=7, words=3)
        context, weights = self.run(self.layer(), query, value)
        np.testing.assert_allclose(weights[:, :4].sum(-1), 1, atol=1e-6)
        assert (weights[:, 4:] == 0).all()
        assert (context[:, 4:] == 0).all()

    def test_steps_are_counted_exactly(self):
        """In float16 there is no odd number above 2048."""
        query, value = self.inputs(steps=1, words=4)
        layer = self.trained(dtype="float16")
        memory = layer.prepare(value)
        (count,) = layer.initial_state(memory)
        *_, (count,) = self.run_step(layer, query, memory, (count + 4096,))
        assert float(count[0, 0, 0]) == 4097

    def test_a_window_is_kept_as_a_plain_integer(self):
        assert type(LocalMonotonic(np.int64(2)).get_config()["window"]) is int
