"""MultiHead: what the contract cannot know about it."""

import keras
import numpy as np
import pytest
from contract import AttentionContract
from contract import ProjectedAttentionContract
from contracts.noise import NoiseLaws
from gradients import to_numpy
from reference import coverage_weights

from keras_attention import AbstractAttention
from keras_attention import BahdanauAttention
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import ForwardAlignment
from keras_attention import GaussianMixtureAttention
from keras_attention import LocalMonotonic
from keras_attention import MultiHead

KERNELS = ("query_kernel", "key_kernel", "value_kernel", "output_kernel")
MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)


class HeadsCase(AttentionContract):
    """The paper's formula, around the reference of one head."""

    layer_class = MultiHead

    def attention(self):
        return DotAttention("sqrt")

    def layer(self, **changes):
        given = {"attention": self.attention(), **self.init_kwargs}
        return MultiHead(**{**given, **changes})

    def reference_score(self, query, key, _):
        return query @ key / np.sqrt(len(query))

    def reference(
        self,
        layer,
        query,
        value,
        key=None,
        value_mask=None,
        attention_mask=None,
    ):
        w = {w.name: to_numpy(w).astype("float64") for w in layer.weights}
        key = value if key is None else key
        masks = value_mask, attention_mask
        contexts, every = [], []
        for h, head in enumerate(layer.heads):
            q, k = query, key
            if layer.key_dim is not None:
                q = query.astype("float64") @ w["query_kernel"][:, h]
                k = key.astype("float64") @ w["key_kernel"][:, h]
            v = value.astype("float64") @ w["value_kernel"][:, h]
            context, weights = super().reference(head, q, v, k, *masks)
            contexts.append(context)
            every.append(weights)
        joined = w["output_kernel"].reshape(-1, w["output_kernel"].shape[-1])
        context = np.concatenate(contexts, axis=-1) @ joined
        return context, np.mean(every, axis=0)

    # A head has a noise of its own.

    def test_noise_is_drawn_for_all_steps(self):
        _, value = self.inputs()
        layer = self.layer(dropout=0.5, seed=1, dtype="mixed_bfloat16")
        layer.build((None, None, self.query_size), value.shape)
        memory = layer.prepare(value)
        noise = to_numpy(layer.draw_noise(memory, 7, 3))
        assert noise.shape == (7, 2, 3, layer.num_heads, 5)
        assert set(np.unique(noise)) == {0, 2}
        assert layer.draw_noise(list(memory), 1).shape[2] == 1


class TestMultiHead(HeadsCase, ProjectedAttentionContract):
    init_kwargs = {"num_heads": 2, "key_dim": 4}
    kernel_names = KERNELS

    # A context is not made of values alone: see `TestDropout`.
    test_drops_in_training_alone = None
    test_weights_come_back_before_dropout = None
    test_expectation_stays = None
    test_seeds_decide = None
    test_a_step_uses_the_noise_it_is_given = None

    @pytest.mark.parametrize("causal", [False, True])
    def test_is_that_of_keras(self, causal):
        sizes = {"key_dim": 4, "value_dim": 3}
        query, value = self.inputs(dtype="float64")
        key = self.key(dtype="float64")
        asked = {
            "key": key,
            "value_mask": MASK,
            "use_causal_mask": causal,
        }
        keras_layer = keras.layers.MultiHeadAttention(
            2, **sizes, output_shape=7, use_bias=False, dtype="float64"
        )
        want = keras_layer(query, value, **asked, return_attention_scores=True)
        layer = self.layer(**sizes, output_dim=7, dtype="float64")
        layer.build(query.shape, value.shape, key.shape)
        for ours, theirs in zip(
            layer.weights, keras_layer.weights, strict=True
        ):
            ours.assign(theirs)
        got = layer(query, value, **asked, return_attention_scores="heads")
        for x, y in zip(got, want, strict=True):
            x, y = to_numpy(x), to_numpy(y)
            assert x.dtype == "float64"
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-15)

    def test_weights_of_each_head(self):
        query, value = self.inputs()
        layer = self.trained()
        _, mean = self.run(layer, query, value, value_mask=MASK)
        _, heads = layer(
            query, value, value_mask=MASK, return_attention_scores="heads"
        )
        heads = to_numpy(heads)
        assert heads.shape == (2, 2, 3, 5)
        np.testing.assert_allclose(heads.mean(1), mean, atol=1e-7)
        assert (heads[:, 0] != heads[:, 1]).any()

    def test_symbolic_weights_of_each_head(self):
        query, value = keras.Input((None, 3)), keras.Input((5, 5))
        layer = self.layer(output_dim=7)
        context, weights = layer(query, value, return_attention_scores="heads")
        assert context.shape == (None, None, 7)
        assert weights.shape == (None, 2, None, 5)

    def test_kernels_start_as_matrices(self):
        """Glorot's limits are those of all heads beside each other."""
        layer = self.layer(num_heads=8, value_dim=16)
        layer.build((None, None, 64), (None, None, 64))
        for name, fans in (("value_kernel", 192), ("output_kernel", 192)):
            limit = np.sqrt(6 / fans)
            largest = abs(to_numpy(getattr(layer, name))).max()
            assert 0.95 * limit < largest <= limit


@pytest.mark.variant
class TestHeadsWithStates(HeadsCase):
    """Each head has weights of its own, and a state."""

    init_kwargs = {"num_heads": 2, "value_dim": 3}

    test_drops_in_training_alone = None
    test_weights_come_back_before_dropout = None
    test_expectation_stays = None
    test_seeds_decide = None
    test_a_step_uses_the_noise_it_is_given = None
    test_weights_are_attributes = None  # those of a head are the head's

    def attention(self):
        return CoverageAttention(4)

    def reference_weights(self, query, key, mask, real, w):
        return coverage_weights(query, key, mask, w)

    def test_weights_of_each_head_in_a_call_are_those_of_its_steps(self):
        query, value = self.inputs()
        layer = self.trained()
        _, heads = layer(query, value, return_attention_scores="heads")
        memory = layer.prepare(value)
        state = layer.initial_state(memory)
        for t in range(3):
            *_, state = layer.step(query[:, t : t + 1], memory, state)
        covered = to_numpy(state[0])  # (B, K, H, Tv)
        total = to_numpy(heads).sum(axis=2)
        np.testing.assert_allclose(covered[:, 0], total, atol=1e-6)

    def test_auxiliary_loss_sees_the_mean(self):
        query, value = self.inputs()
        inner = CoverageAttention(4, coverage_loss=2.0)
        layer = self.layer(attention=inner)
        _, weights = layer(query, value, return_attention_scores=True)
        (loss,) = layer.losses
        want = inner.auxiliary_loss(weights)
        assert to_numpy(loss) == pytest.approx(float(to_numpy(want))) != 0


class TestDropout(NoiseLaws):
    """One head that hands weights on, so that they show in the context."""

    layer_class = MultiHead

    def layer(self, **changes):
        given = {"num_heads": 1, "kernel_initializer": "identity"}
        inner = BahdanauAttention(4)
        return MultiHead(**{"attention": inner, **given, **changes})

    test_noise_is_drawn_for_all_steps = None  # above

    def test_a_step_uses_the_noise_it_is_given(self):
        query, value = self.inputs(steps=1)
        layer = self.layer(dropout=0.5)
        layer(query, value)
        memory = layer.prepare(value)
        noise = np.array([[[[0, 2, 0, 2, 2]]]] * 2, "float32")
        context, weights, _ = self.run_step(layer, query, memory, noise=noise)
        np.testing.assert_allclose(
            context, (weights * noise[:, 0]) @ value, atol=1e-5
        )

    def test_the_rate_is_that_of_the_attention_unless_said(self):
        inner = DotAttention(dropout=0.3, seed=7)
        layer = MultiHead(inner, 2)
        assert (layer.dropout, layer.seed) == (0.3, 7)
        layer = MultiHead(inner, 2, dropout=0.0, seed=8)
        assert (layer.dropout, layer.seed) == (0.0, 8)

    def test_every_head_drops_its_own(self):
        query, value = self.inputs()
        layer = self.layer(num_heads=2, value_dim=5, dropout=0.5, seed=1)
        layer(query, value)
        noise = layer.draw_noise(layer.prepare(value), 50)
        agree = to_numpy(noise[..., 0, :] == noise[..., 1, :]).mean()
        assert 0.35 < agree < 0.65


@pytest.mark.parametrize(
    "alignment", ["softmax", ForwardAlignment(), LocalMonotonic(1)]
)
@pytest.mark.parametrize("key_dim", [None, 3])
def test_heads_without_weights_run_together(alignment, key_dim):
    """That is faster; a scale of 1 makes them run one by one."""
    draw = np.random.default_rng(0).normal
    query, value = draw(size=(2, 4, 4)), draw(size=(2, 5, 4))
    outputs = []
    for scale in (None, "learned"):
        keras.utils.set_random_seed(0)
        inner = DotAttention(scale, alignment=alignment)
        layer = MultiHead(inner, 2, key_dim, dtype="float64")
        found = layer(
            query,
            value,
            value_mask=MASK,
            use_causal_mask=True,
            return_attention_scores="heads",
        )
        outputs.append([to_numpy(x) for x in found])
    for x, y in zip(*outputs, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-14)


def test_copies_the_attention():
    """It stays as it is, and may serve again; dtypes are the layer's."""
    inner = BahdanauAttention(4)
    one, other = MultiHead(inner, 2, dtype="float64"), MultiHead(inner, 2)
    for layer in (one, other):
        layer.build((None, None, 3), (None, None, 5))
    assert not inner.built
    assert len(one.weights) == len(other.weights) == 2 + 2 * 3
    assert {w.dtype for w in one.weights} == {"float64"}
    kernels = [head.query_kernel for head in one.heads]
    assert (to_numpy(kernels[0]) != to_numpy(kernels[1])).any()


def test_refuses_more_heads_than_features():
    layer = MultiHead(DotAttention(), 6)
    with pytest.raises(ValueError, match=r"num_heads=6.*`value_dim`"):
        layer.build((None, None, 5), (None, None, 5))


def test_refuses_what_is_no_attention_of_one_head():
    for wrong in ("dot", DotAttention, MultiHead(DotAttention(), 2)):
        with pytest.raises(ValueError, match=r"Try DotAttention\('sqrt'\)"):
            MultiHead(wrong, 2)


@pytest.mark.parametrize("kind", [DotAttention, GaussianMixtureAttention])
def test_a_layer_without_heads_has_no_weights_of_heads(kind):
    layer = kind() if kind is DotAttention else kind(2)
    assert isinstance(layer, AbstractAttention)
    x = np.ones((1, 2, 3))
    for given in (x, keras.Input((2, 3))):
        with pytest.raises(ValueError, match="`return_attention_scores` must"):
            layer(given, given, return_attention_scores="heads")
