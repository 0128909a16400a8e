"""Laws of masks: what is not real, or not to be seen, does not matter."""

import keras
import numpy as np
import pytest
from contracts.case import DTYPES
from contracts.case import TOLERANCE
from contracts.case import AttentionCase
from gradients import to_numpy
from tiers import some

MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], bool)
FILLS = np.array([[np.nan], [np.inf], [-np.inf], [1e4]])  # of padding
VISIBLE = np.random.default_rng(3).random((2, 3, 5)) < 0.6
FORMS = {
    "whole": VISIBLE,
    "one for all sentences": VISIBLE[:1],
    "no batch axis": VISIBLE[1],
    "one for all queries": VISIBLE[:, :1],
    "one for all words": VISIBLE[:, :, :1],
}


@keras.saving.register_keras_serializable(package="tests")
class ShowMask(keras.layers.Layer):
    """Shows the mask that Keras hands on with a tensor."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True  # or Keras warns

    def call(self, x, mask=None):
        return x if mask is None else mask


class HiddenLaws(AttentionCase):
    """What alignments obey too."""

    def outcome(self, layer, query, value, mask):
        """Everything that real positions have to do with, both ways."""
        words = MASK.shape[1]
        context, weights = self.run(layer, query, value, value_mask=mask)
        assert (weights[:, :, words:] == 0).all()
        slopes = self.gradients(layer, query, value, value_mask=mask)
        of_query, of_value, of_weights = slopes
        assert (of_value[~mask] == 0).all()
        of_value = of_value[:, :words]
        return [context, weights[:, :, :words], of_query, of_value, *of_weights]

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(DTYPES, 1))
    def test_padding_never_matters(self, dtype):
        query, value = self.inputs(words=8)
        mask = np.concatenate([MASK, np.zeros((2, 3), bool)], axis=1)
        noisy = value.copy()
        noisy[~mask] = np.resize(FILLS, (9, 1))
        layer = self.trained(dtype=dtype)
        short = np.where(MASK[..., None], value[:, :5], 0).astype("float32")
        want = self.outcome(layer, query, short, MASK)
        got = self.outcome(layer, query, noisy, mask)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, TOLERANCE[dtype], TOLERANCE[dtype])

    def test_padding_in_front_never_matters(self):
        query, value = self.inputs()
        front = np.full((2, 3, self.value_size), np.nan, "float32")
        layer = self.trained()
        want = self.outcome(layer, query, value, MASK)
        wide = np.concatenate([front, value], axis=1)
        mask = np.concatenate([np.zeros((2, 3), bool), MASK], axis=1)
        context, weights = self.run(layer, query, wide, value_mask=mask)
        assert (weights[:, :, :3] == 0).all()
        slopes = self.gradients(layer, query, wide, 3, value_mask=mask)
        of_query, of_value, of_weights = slopes
        assert (of_value[:, :3] == 0).all()
        got = [context, weights[:, :, 3:], of_query, of_value[:, 3:]]
        for x, y in zip([*got, *of_weights], want, strict=True):
            np.testing.assert_allclose(x, y, 1e-5, 1e-5)

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(DTYPES, 1))
    def test_no_memory_no_weight(self, dtype):
        query, value = self.inputs()
        mask = np.array([[True] * 5, [False] * 5])
        value[1] = np.nan
        layer = self.trained(dtype=dtype)
        for factor in (50, 0):
            asked = np.float32(factor) * query
            out = self.run(layer, asked, value, value_mask=mask)
            of_query, of_value, of_weights = self.gradients(
                layer, asked, value, value_mask=mask
            )
            for x in (*out, of_query, of_value):
                assert (x[1] == 0).all()
            for x in (*out, of_query, of_value, *of_weights):
                assert np.isfinite(x).all()

    @pytest.mark.parametrize("form", some(FORMS, 2))
    def test_an_attention_mask_hides(self, form):
        query, value = self.inputs()
        layer = self.trained()
        masks = {"attention_mask": FORMS[form], "value_mask": MASK}
        got = self.run(layer, query, value, **masks)
        want = self.reference(layer, query, value, **masks)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5)

    @pytest.mark.parametrize("steps", some([7, 3, 5], 1))
    def test_causal_mask_hides_what_comes_later(self, steps):
        query, value = self.inputs(steps=steps)
        layer = self.trained()
        got = self.run(
            layer, query, value, value_mask=MASK, use_causal_mask=True
        )
        earlier = np.tri(steps, 5, dtype=bool)
        want = self.reference(
            layer, query, value, value_mask=MASK, attention_mask=earlier
        )
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5)


class MaskLaws(HiddenLaws):
    """What layers obey."""

    @pytest.mark.parametrize("dtype", some(DTYPES, 1))
    def test_padding_of_the_key_never_matters(self, dtype):
        query, value = self.inputs()
        key = self.key()
        layer = self.layer(dtype=dtype)
        layer(query, value, key)
        self.moved(layer)

        def outcome(key):
            out = self.run(layer, query, value, key=key, value_mask=MASK)
            of_query, of_value, of_weights = self.gradients(
                layer, query, value, key=key, value_mask=MASK
            )
            return [*out, of_query, of_value, *of_weights]

        quiet = outcome(key)
        loud = outcome(np.where(MASK[..., None], key, np.nan).astype("float32"))
        for x, y in zip(quiet, loud, strict=True):
            np.testing.assert_array_equal(x, y)

    @pytest.mark.parametrize("dtype", some(["int32", "uint8", "bool"], 1))
    def test_masks_may_be_any_numpy(self, dtype):
        query, value = self.inputs()
        layer = self.trained()
        got = self.run(
            layer,
            query,
            value,
            query_mask=np.ones((2, 3), dtype),
            value_mask=MASK.astype(dtype),
            attention_mask=VISIBLE.astype(dtype),
        )
        want = self.reference(
            layer, query, value, value_mask=MASK, attention_mask=VISIBLE
        )
        np.testing.assert_allclose(got[1], want[1], atol=1e-5)
        memory = layer.prepare(value, value_mask=MASK.astype(dtype))
        *_, weights = self.run_steps(layer, query, memory)
        assert (weights.sum(axis=1)[~MASK] == 0).all()

    def embed(self, ids, size):
        return keras.layers.Embedding(10, size, mask_zero=True)(ids)

    def test_keras_masks_are_used(self):
        query, _ = self.inputs()
        value = self.embed(np.where(MASK, 5, 0), self.value_size)
        _, weights = self.run(self.layer(), query, value)
        assert (weights.sum(axis=1)[~MASK] == 0).all()
        assert (weights.sum(axis=1)[MASK] > 0).all() or not self.dense

    def test_an_explicit_mask_wins(self):
        query, _ = self.inputs()
        value = self.embed(np.where(MASK, 5, 0), self.value_size)
        first = np.array([[1, 0, 0, 0, 0]] * 2, bool)
        _, weights = self.run(self.layer(), query, value, value_mask=first)
        assert (weights[:, :, 1:] == 0).all()
        assert (weights[:, 0, 0] > 0).all() or not self.dense

    @pytest.mark.parametrize("scores", [False, True])
    def test_the_querys_mask_goes_on(self, scores):
        words = np.array([[5, 3, 0], [1, 0, 0]])
        query = self.embed(words, self.query_size)
        _, value = self.inputs()
        out = self.layer()(query, value, return_attention_scores=scores)
        mask = ShowMask()(out[0] if scores else out)
        np.testing.assert_array_equal(to_numpy(mask), words != 0)

    def test_a_mask_of_the_query_changes_nothing(self):
        query, value = self.inputs()
        layer = self.layer()
        plain = self.run(layer, query, value)
        mask = np.array([[1, 1, 0]] * 2, bool)
        masked = self.run(layer, query, value, query_mask=mask)
        for x, y in zip(plain, masked, strict=True):
            np.testing.assert_array_equal(x, y)
