"""AbstractProjectedAttention: kernels and scores, joined in one base."""

import keras
import numpy as np
from contracts.formula import FormulaLaws
from contracts.kernels import KernelLaws

from keras_attention import AbstractAttention
from keras_attention.attention import AbstractProjectedAttention
from keras_attention.layers import AbstractKernelLayer
from keras_attention.ops import dot_scores
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="tests")
class MapAttention(AbstractProjectedAttention):
    """A score as a user would add it: `q W . k`, with `W` on the query."""

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        self.kernel = self.add_kernel(
            "kernel", (query_shape[-1], key_shape[-1])
        )

    def score(self, query, keys):
        return dot_scores(product(query, self.kernel), keys)


class TestAbstractProjectedAttention(FormulaLaws, KernelLaws):
    layer_class = MapAttention
    kernel_names = ("kernel",)

    def reference_score(self, query, key, weights):
        return query @ weights["kernel"] @ key

    def test_is_both(self):
        assert issubclass(AbstractProjectedAttention, AbstractKernelLayer)
        assert issubclass(AbstractProjectedAttention, AbstractAttention)

    def test_takes_the_arguments_of_both(self):
        layer = self.layer(kernel_initializer="zeros", dropout=0.1, seed=2)
        query, value = self.inputs()
        _, weights = self.run(layer, query, value)
        np.testing.assert_allclose(weights, 1 / 5, atol=1e-6)
        assert layer.dropout == 0.1
