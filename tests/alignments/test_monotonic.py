"""Monotonic: what the contract cannot know about it."""

import numpy as np
import pytest
from contracts.alignment import AlignmentContract
from gradients import to_numpy

from keras_attention import LuongGeneral
from keras_attention import Monotonic


def soft(p, before):
    """Where a reader stops: one position after the other, by eq. 9."""
    weights, arrived = np.zeros(len(p)), 0.0
    for j in range(len(p)):
        arrived = before[j] + arrived * (1 - p[j - 1] if j else 0)
        weights[j] = p[j] * arrived
    return weights


def hard(p, before):
    """Algorithm 1: the first from where it was whose `p` is above 1/2."""
    weights = np.zeros(len(p))
    if before.any():
        start = before.argmax()
        for j in range(start, len(p)):
            if p[j] > 0.5:
                weights[j] = 1
                break
    return weights


def soft_step(p, before):
    """He et al.: stay, or move on by one."""
    moved = np.append(0, (1 - p) * before)[:-1]
    return p * before + moved


def hard_step(p, before):
    return soft_step((p > 0.5) * 1.0, before)


class MonotonicCase(AlignmentContract):
    alignment_class = Monotonic
    dense = False
    one_step = staticmethod(soft)
    strict = False  # whether a step starts behind the last stop

    def reference_align(self, scores, mask, real, query, weights):
        start, every = np.eye(len(real))[0], []
        for score, seen in zip(scores, mask, strict=True):
            p = seen / (1 + np.exp(-score - weights["score_bias"]))
            every.append(self.one_step(p, start) * seen)
            start = every[-1]
            if self.strict:
                start = np.append(0, start)[:-1]
        return np.array(every)


@pytest.mark.variant
class TestMonotonicParallel(MonotonicCase):
    alignment_kwargs = {"mode": "parallel", "score_bias": 0.3}


class TestMonotonicRecursive(MonotonicCase):
    alignment_kwargs = {"mode": "recursive", "score_bias": -0.2}


@pytest.mark.variant
class TestMonotonicHard(MonotonicCase):
    alignment_kwargs = {"mode": "hard"}
    one_step = staticmethod(hard)


@pytest.mark.variant
class TestStrict(MonotonicCase):
    strict = True
    alignment_kwargs = {"strict": True, "score_bias": 0.3}

    def test_is_not_stepwise(self):
        with pytest.raises(ValueError, match="stepwise=True, strict=True"):
            Monotonic(stepwise=True, strict=True)


@pytest.mark.variant
class TestStrictHard(MonotonicCase):
    strict = True
    alignment_kwargs = {"mode": "hard", "strict": True}
    one_step = staticmethod(hard)


@pytest.mark.variant
class TestStepwise(MonotonicCase):
    alignment_kwargs = {"stepwise": True, "score_bias": 0.3}
    one_step = staticmethod(soft_step)

    def test_recursive_is_parallel(self):
        query, value = self.inputs()
        one = self.trained()
        alignment = self.alignment(mode="recursive")
        other = self.layer(alignment=alignment)
        other(query, value)
        other.set_weights(one.get_weights())
        for x, y in zip(
            self.run(one, query, value),
            self.run(other, query, value),
            strict=True,
        ):
            np.testing.assert_array_equal(x, y)


@pytest.mark.variant
class TestStepwiseHard(MonotonicCase):
    alignment_kwargs = {"mode": "hard", "stepwise": True}
    one_step = staticmethod(hard_step)


class TestNoise:
    def layer(self, noise, **kwargs):
        layer = LuongGeneral(
            alignment=Monotonic(sigmoid_noise=noise), seed=1, **kwargs
        )
        layer.build((None, None, 3), (None, None, 5))
        return layer

    def weights(self, layer, **kwargs):
        draw = np.random.default_rng(0).normal
        query, value = draw(size=(2, 4, 3)), draw(size=(2, 6, 5))
        out = layer(query, value, return_attention_scores=True, **kwargs)
        return to_numpy(out[1])

    def test_is_drawn_in_training_alone(self):
        layer = self.layer(2.0)
        plain = self.weights(layer)
        np.testing.assert_array_equal(plain, self.weights(layer))
        first = self.weights(layer, training=True)
        second = self.weights(layer, training=True)
        assert (first != plain).any()
        assert (first != second).any()

    def test_has_its_deviation(self):
        layer = self.layer(3.0)
        memory = layer.prepare(np.ones((20, 10, 5)))
        noise = to_numpy(layer.draw_noise(memory, 10, 2))
        assert noise.shape == (10, 20, 2, 10)
        assert noise.std() == pytest.approx(3.0, rel=0.05)

    @pytest.mark.parametrize("dropout", [0.0, 0.5])
    def test_moves_the_scores_of_a_step(self, dropout):
        """Beside dropout, which the returned weights do not show."""
        layer = self.layer(1.0, dropout=dropout)
        draw = np.random.default_rng(0).normal
        query, value = draw(size=(2, 1, 3)), draw(size=(2, 6, 5))
        memory = layer.prepare(value)
        drawn = layer.draw_noise(memory, 1)[0]
        state = layer.initial_state(memory)
        _, got, _ = layer.step(query, memory, state, drawn)
        scores = query @ to_numpy(layer.kernel) @ value.transpose(0, 2, 1)
        p = 1 / (1 + np.exp(-scores - to_numpy(drawn)[..., -6:]))
        want = [soft(row[0], np.eye(6)[0]) for row in p]
        np.testing.assert_allclose(to_numpy(got)[:, 0], want, atol=1e-5)

    def test_dropout_beside_it_drops(self):
        layer = self.layer(1.0, dropout=0.5)
        memory = layer.prepare(np.stack([np.eye(6, 5)] * 2))
        drawn = layer.draw_noise(memory, 1)[0]
        state = layer.initial_state(memory)
        query = np.ones((2, 1, 3))
        context, weights, _ = layer.step(query, memory, state, drawn)
        kept = to_numpy(drawn)[..., :5]
        assert set(np.unique(kept)) == {0, 2}
        np.testing.assert_allclose(
            to_numpy(context), to_numpy(weights)[..., :5] * kept, atol=1e-6
        )


class TestArguments:
    def test_the_bias_is_a_weight_and_trained(self):
        layer = LuongGeneral(alignment=Monotonic(score_bias=-2.0))
        layer.build((None, None, 3), (None, None, 5))
        (bias,) = layer.alignment.trainable_weights
        assert (bias.name, bias.shape) == ("score_bias", ())
        assert float(to_numpy(bias)) == -2
        assert any(w is bias for w in layer.trainable_weights)

    def test_refuses_other_modes(self):
        with pytest.raises(ValueError, match="'recursive', 'hard'"):
            Monotonic(mode="soft")

    def test_a_build_without_its_bases_is_named(self):
        class Forgetful(LuongGeneral):
            def build(self, query_shape, value_shape, key_shape=None):
                self.kernel = self.add_kernel("kernel", (3, 5))

        layer = Forgetful(alignment=Monotonic())
        with pytest.raises(ValueError, match=r"super\(\)\.build"):
            layer(np.ones((1, 1, 3)), np.ones((1, 2, 5)))


@pytest.mark.parametrize("mode", ["parallel", "recursive"])
def test_a_soft_one_becomes_hard(mode):
    alignment = Monotonic(mode, score_bias=0.5)
    with pytest.raises(ValueError, match=rf"mode='{mode}'\), which spreads"):
        alignment.reading()
    assert alignment.harden() == [
        f"Monotonic: changed mode={mode!r} to mode='hard'"
    ]
    assert alignment.get_config()["mode"] == "hard"
    assert alignment.harden() == []
    assert alignment.reading().before == 0
