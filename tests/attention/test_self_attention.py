"""SelfAttention: windows, causality, and any attention inside."""

import numpy as np
import pytest
from contracts.composed import ComposedLaws
from gradients import to_numpy

from keras_attention import BahdanauAttention
from keras_attention import ForwardAlignment
from keras_attention import GaussianMixtureAttention
from keras_attention import LocalMonotonic
from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention import SelfAttention


def near(i, j, width, causal):
    """Whether position i sees position j, as the contract says it."""
    if causal:
        return i - width < j <= i
    return i - width // 2 <= j < i - width // 2 + width


class SelfAttentionCase(ComposedLaws):
    layer_class = SelfAttention
    width: int | None = None
    causal = False

    def layer(self, **changes):
        given = {"attention": BahdanauAttention(4, **self.policy(changes))}
        own = {"width": self.width, "causal": self.causal}
        return SelfAttention(**{**given, **own, **changes})

    def policy(self, changes):
        return {k: v for k, v in changes.items() if k == "dtype"}

    def reference(self, x, mask, w):
        weights = np.zeros((2, 5, 5))
        x = np.where(mask[..., None], x, 0).astype("float64")
        for b, i, j in np.ndindex(weights.shape):
            hidden = x[b, i] @ w["query_kernel"] + x[b, j] @ w["key_kernel"]
            score = w["score_vector"] @ np.tanh(hidden)
            seen = near(i, j, self.width or 99, self.causal) & mask[b, j]
            weights[b, i, j] = np.exp(score) * seen
        weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
        return weights @ x, weights

    def test_config_holds_every_argument(self):
        super().test_config_holds_every_argument()
        config = self.layer().get_config()
        assert config["width"] == self.width
        assert config["causal"] == self.causal


class TestSelfAttention(SelfAttentionCase):
    def test_refuses_what_does_not_attend(self):
        with pytest.raises(ValueError, match=r"Try BahdanauAttention\(64\)"):
            SelfAttention(attention="dot")


@pytest.mark.variant
class TestOddWindow(SelfAttentionCase):
    width = 3


@pytest.mark.variant
class TestEvenWindow(SelfAttentionCase):
    width = 4


class TestCausalWindow(SelfAttentionCase):
    width = 2
    causal = True


@pytest.mark.variant
class TestCausal(SelfAttentionCase):
    causal = True


@pytest.mark.parametrize("name", ["local-m", "forward", "strict", "mixture"])
def test_padding_in_front_moves_no_state(name):
    alignments = {
        "local-m": LocalMonotonic(1),
        "forward": ForwardAlignment(transition_agent=True),
        "strict": Monotonic(strict=True),
    }
    if name == "mixture":
        layer = SelfAttention(GaussianMixtureAttention(2))
    else:
        inner = LuongGeneral(alignment=alignments[name])
        layer = SelfAttention(inner, width=3)
    x = np.random.default_rng(0).normal(size=(2, 7, 3)).astype("float32")
    mask = np.arange(7) >= np.array([[2], [0]])
    wide, weights = layer(x, mask=mask, return_attention_scores=True)
    context, alone = layer(x[:1, 2:], return_attention_scores=True)
    np.testing.assert_allclose(
        to_numpy(wide)[:1, 2:], to_numpy(context), atol=1e-6
    )
    np.testing.assert_allclose(
        to_numpy(weights)[:1, 2:, 2:], to_numpy(alone), atol=1e-6
    )
