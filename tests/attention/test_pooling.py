"""AttentionPooling: many to one."""

import keras
import numpy as np
import pytest
from contracts.composed import MASK
from contracts.composed import ComposedLaws
from gradients import to_numpy

from keras_attention import AttentionPooling


class TestAttentionPooling(ComposedLaws):
    layer_class = AttentionPooling
    init_kwargs = {"units": 4}

    def reference(self, x, mask, w):
        pooled, weights = [], []
        for rows, real in zip(x.astype("float64"), mask, strict=True):
            scores = [
                w["score_vector"] @ np.tanh(h @ w["kernel"]) for h in rows
            ]
            e = np.exp(scores) * real
            weights.append(e / max(e.sum(), 1e-300))
            pooled.append(weights[-1] @ rows)
        return np.array(pooled), np.array(weights)

    def test_keras_masks_are_used_and_end_here(self):
        ids = np.where(MASK, 3, 0)
        x = keras.layers.Embedding(5, 3, mask_zero=True)(ids)
        out, weights = self.layer()(x, return_attention_scores=True)
        assert (to_numpy(weights)[~MASK] == 0).all()
        assert getattr(out, "_keras_mask", None) is None

    def test_drops_in_training_alone(self):
        x = np.stack([np.eye(5, dtype="float32")] * 40)
        layer = self.layer(dropout=0.5, seed=1)
        pooled, weights = self.run(layer, x, training=True)
        kept = pooled / weights
        assert set(np.unique(kept.round(4))) == {0, 2}
        pooled, weights = self.run(layer, x)
        np.testing.assert_allclose(pooled, weights, atol=1e-6)

    @pytest.mark.parametrize("units", [0, -1])
    def test_refuses_units_not_positive(self, units):
        with pytest.raises(ValueError, match="`units` must be a positive"):
            self.layer(units=units)


def test_names_the_shape_that_does_not_fit():
    with pytest.raises(ValueError, match="needs `x` of the shape"):
        AttentionPooling(4)(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"`mask` as booleans.*lengths"):
        AttentionPooling(4)(np.ones((2, 3, 4)), mask=np.array([3, 2]))
