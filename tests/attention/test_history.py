"""AbstractHistoryAttention: a mechanism of one's own that remembers."""

import keras
import numpy as np
from contracts.formula import FormulaLaws
from contracts.steps import StepLaws
from keras import ops

from keras_attention.attention import AbstractHistoryAttention


@keras.saving.register_keras_serializable(package="tests")
class FadingAttention(AbstractHistoryAttention):
    """Sees a sum of earlier weights that halves at every step."""

    def first_history(self, real):
        return ops.zeros_like(real)

    def next_history(self, history, weights):
        return history / 2 + weights

    def features(self, history):
        ones = ops.ones((self.units,), history.dtype)
        return ops.expand_dims(history, -1) * ones


class TestAbstractHistoryAttention(FormulaLaws, StepLaws):
    layer_class = FadingAttention
    init_kwargs = {"units": 4}

    def reference_weights(self, query, key, mask, real, w):
        fading, every = np.zeros(len(key)), []
        for q, seen in zip(query, mask, strict=True):
            hidden = q @ w["query_kernel"] + key @ w["key_kernel"] + w["bias"]
            hidden = np.tanh(hidden + fading[:, None])
            e = np.exp(hidden @ w["score_vector"]) * seen
            every.append(e / max(e.sum(), 1e-300))
            fading = fading / 2 + every[-1]
        return np.array(every)
