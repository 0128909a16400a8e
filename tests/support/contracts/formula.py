"""Laws of numbers: the paper's formula, its gradient, and what overflows."""

import numpy as np
import pytest
from contracts.case import TOLERANCE
from contracts.case import AttentionCase
from gradients import check_gradients
from tiers import some

MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)


class WeightLaws(AttentionCase):
    """What alignments obey too."""

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(["float64", "float32"], 1))
    def test_agrees_with_the_paper(self, dtype):
        query, value = self.inputs(dtype=dtype)
        layer = self.trained(dtype=dtype)
        got = self.run(layer, query, value, value_mask=MASK)
        want = self.reference(layer, query, value, value_mask=MASK)
        for x, y in zip(got, want, strict=True):
            assert x.dtype == dtype
            np.testing.assert_allclose(
                x, y, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
            )

    @pytest.mark.parametrize("dtype", some(["bfloat16", "float16"], 1))
    def test_half_precision_is_near_the_paper(self, dtype):
        query, value = self.inputs()
        layer = self.trained(dtype=dtype)
        _, got = self.run(layer, query, value, value_mask=MASK)
        _, want = self.reference(layer, query, value, value_mask=MASK)
        np.testing.assert_allclose(got, want, atol=4 * TOLERANCE[dtype])

    def test_starts_from_the_formula_too(self):
        """Untrained weights, such as a gain of its own, included."""
        query, value = self.inputs(dtype="float64")
        layer = self.layer(dtype="float64")
        got = self.run(layer, query, value)
        want = self.reference(layer, query, value)
        np.testing.assert_allclose(got[1], want[1], atol=1e-12)

    @pytest.mark.sharp
    def test_gradients_are_slopes(self):
        query, value = self.inputs(steps=2, dtype="float64")
        layer = self.trained(dtype="float64")
        check_gradients(
            self.loss(layer, value_mask=MASK),
            [query, value, *self.weights_of(layer)],
        )

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(["float16", "bfloat16"], 1))
    def test_large_inputs_stay_finite(self, dtype):
        query, value = self.inputs()
        layer = self.layer(dtype=dtype)
        query, value = 1e4 * np.sign(query), 1e4 * np.sign(value)
        for x in self.run(layer, query, value, value_mask=MASK):
            assert np.isfinite(x).all()

    def test_zeros_are_ordinary_inputs(self):
        """Zero states and empty embeddings are what a decoder starts from."""
        query, value = self.inputs()
        layer = self.trained()
        out = self.run(layer, 0 * query, 0 * value)
        query, value, rest = self.gradients(layer, 0 * query, 0 * value)
        for x in [*out, query, value, *rest]:
            assert np.isfinite(x).all()

    def test_no_queries_and_no_words(self):
        query, value = self.inputs()
        layer = self.trained()
        context, weights = self.run(layer, query[:, :0], value)
        assert context.shape == (2, 0, self.value_size)
        assert weights.shape == (2, 0, 5)
        nothing = np.zeros((2, 0), bool)
        context, _ = self.run(layer, query, value[:, :0], value_mask=nothing)
        assert (context == 0).all()


class FormulaLaws(WeightLaws):
    """What layers obey."""

    def test_scores_the_key_and_averages_the_value(self):
        query, value = self.inputs(dtype="float64")
        key = self.key(dtype="float64")
        value = np.concatenate([value, value[..., :2] ** 2], axis=-1)
        layer = self.layer(dtype="float64")
        layer(query, value, key)
        self.moved(layer)
        got = self.run(layer, query, value, key=key, value_mask=MASK)
        want = self.reference(layer, query, value, key, MASK)
        assert got[0].shape == (2, 3, self.value_size + 2)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12)
