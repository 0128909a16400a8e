"""AbstractAdditiveAttention: weights that a new additive score inherits."""

import keras
import numpy as np
import pytest
from contracts.formula import FormulaLaws
from contracts.kernels import KernelLaws

from keras_attention.attention import AbstractAdditiveAttention
from keras_attention.ops import additive_scores
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="tests")
class BiasedAttention(AbstractAdditiveAttention):
    """An additive score as a user would vary it: with a bias."""

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.add_bias()

    def project_keys(self, key):
        return product(key, self.key_kernel) + self.bias

    def score(self, query, keys):
        query = product(query, self.query_kernel)
        return additive_scores(query, keys, self.score_vector)


class TestAbstractAdditiveAttention(FormulaLaws, KernelLaws):
    layer_class = BiasedAttention
    init_kwargs = {"units": 4}
    kernel_names = ("query_kernel", "key_kernel", "score_vector")

    def reference_score(self, query, key, weights):
        both = query @ weights["query_kernel"] + key @ weights["key_kernel"]
        return weights["score_vector"] @ np.tanh(both + weights["bias"])

    def test_units_are_positive(self):
        with pytest.raises(ValueError, match="units"):
            self.layer(units=0)

    def test_config_brings_it_back(self):
        layer = self.trained()
        assert layer.get_config()["units"] == 4
        again = type(layer).from_config(layer.get_config())
        assert again.units == 4
        again.build((None, None, 3), (None, None, 5))
        names = [w.name for w in layer.weights]
        assert [w.name for w in again.weights] == names
        assert names == [*self.kernel_names, "bias"]
