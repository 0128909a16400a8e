"""AbstractMemoryAttention: what weighs a memory without any scores."""

import keras
import numpy as np
import pytest
from contract import AttentionContract
from keras import ops

from keras_attention import Memory
from keras_attention.attention import AbstractMemoryAttention


@keras.saving.register_keras_serializable(package="tests")
class ClockAttention(AbstractMemoryAttention):
    """Step `t` gives position `j` the weight `exp(-|t - j|)`."""

    state_count = 1

    def first_state(self, real):
        return (ops.zeros((*ops.shape(real)[:2], 1), real.dtype),)

    def weigh(self, query, memory, mask, state, noise):
        (time,) = state
        words = ops.arange(ops.shape(memory.values)[1], dtype=time.dtype)
        weights = ops.exp(-ops.abs(time - words))
        if mask is not None:
            weights = ops.where(mask, weights, 0.0)
        return weights, (time + 1,)


class TestAbstractMemoryAttention(AttentionContract):
    layer_class = ClockAttention

    def reference_weights(self, query, key, mask, real, weights):
        steps, words = np.indices(mask.shape)
        return np.exp(-abs(steps - words)) * mask

    def test_trains_on_batches_of_any_shape(self):
        """There is nothing to train."""
        layer = self.layer()
        layer(*self.inputs())
        assert layer.weights == []


def test_weights_must_be_written():
    class Unfinished(AbstractMemoryAttention):
        pass

    with pytest.raises(NotImplementedError, match=r"Unfinished .*`weigh"):
        Unfinished()(np.ones((1, 1, 2)), np.ones((1, 1, 2)))


class TestMemory:
    def test_has_three_parts(self):
        memory = Memory("keys", "values")
        assert memory == ("keys", "values", None)
        assert Memory(*["k", "v", "m"]).mask == "m"
