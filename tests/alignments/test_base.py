"""AbstractAlignment: what one of a user's own needs."""

import keras
import numpy as np
import pytest
from contracts.alignment import AlignmentContract
from keras import ops

from keras_attention import AbstractAlignment
from keras_attention import LuongGeneral


@keras.saving.register_keras_serializable(package="tests")
class Shares(AbstractAlignment):
    """The least that an alignment of one's own needs: `align`."""

    def align(self, scores, mask, state, noise, query, lengths):
        weights = ops.sigmoid(scores) / ops.maximum(lengths, 1.0)
        weights = weights if mask is None else ops.where(mask, weights, 0.0)
        return weights, state


class TestShares(AlignmentContract):
    alignment_class = Shares

    def reference_align(self, scores, mask, real, query, weights):
        return mask / (1 + np.exp(-scores)) / max(real.sum(), 1)


def test_align_must_be_written():
    class Unfinished(AbstractAlignment):
        pass

    layer = LuongGeneral(alignment=Unfinished())
    with pytest.raises(NotImplementedError, match=r"Unfinished .*`align"):
        layer(np.ones((1, 1, 2)), np.ones((1, 1, 2)))
