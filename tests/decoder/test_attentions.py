"""Attentions: none, one or several attentions, with and without beams."""

import numpy as np
import pytest
from gradients import to_numpy
from keras import ops

from keras_attention import AbstractAttention
from keras_attention import BahdanauAttention
from keras_attention import DotAttention
from keras_attention import Memory
from keras_attention.decoder.attentions import Attentions
from keras_attention.ops import dot_scores

B, K, TV, D = 2, 3, 5, 4
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], bool)


class CountingAttention(AbstractAttention):
    """Has a state: how many steps there were, and a half of it."""

    state_count = 2

    def score(self, query, keys):
        return dot_scores(query, keys)

    def initial_state(self, memory, beams=1):
        zeros = ops.zeros((ops.shape(memory[1])[0], beams))
        return zeros, ops.expand_dims(zeros, -1)

    def step(self, query, memory, state=(), noise=None):
        context, weights, _ = super().step(query, memory, noise=noise)
        return context, weights, (state[0] + 1, state[1] + 0.5)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def built(*attentions):
    for one in attentions:
        one.build((None, None, D), (None, None, D))
    return Attentions(attentions)


def both(**kwargs):
    return built(CountingAttention(**kwargs), BahdanauAttention(6, **kwargs))


class TestAttentions:
    def test_lists_what_is_given(self):
        one, other = DotAttention(), DotAttention()
        assert list(Attentions(None)) == []
        assert list(Attentions(one)) == [one]
        assert list(Attentions((one, other))) == [one, other]
        assert Attentions([one, other])[1] is other

    @pytest.mark.parametrize("wrong", ["bahdanau", 3, [None], DotAttention])
    def test_refuses_what_cannot_attend(self, wrong):
        with pytest.raises(ValueError, match="Pass an attention layer"):
            Attentions(wrong)


class TestForms:
    def test_one_entry_is_bare(self):
        none = Attentions(None)
        assert none.pack([]) is None
        assert none.pack(["a"]) == "a"
        assert none.pack(["a", "b"]) == ["a", "b"]

    def test_unpack_is_the_way_back(self):
        for entries in ([], ["a"], ["a", "b"]):
            layers = [DotAttention() for _ in entries]
            attentions = Attentions(layers or None)
            packed = attentions.pack(entries)
            assert attentions.unpack(packed) == entries

    def test_none_is_one_none_each(self):
        assert Attentions(DotAttention()).unpack(None) == [None]
        assert both().unpack(None) == [None, None]


class TestPrepare:
    def test_no_attention_needs_no_memory(self):
        none = Attentions(None)
        assert none.prepare(None) is None
        assert none.as_memories(None) == []
        assert none.as_memories("ignored") == []

    def test_every_attention_has_a_memory_of_its_own(self):
        attentions = both()
        value = draw(B, TV, D)
        memories = attentions.prepare(value, MASK)
        for attention, memory in zip(attentions, memories, strict=True):
            want = attention.prepare(value, value_mask=MASK)
            for x, y in zip(memory, want, strict=True):
                np.testing.assert_array_equal(to_numpy(x), to_numpy(y))

    def test_one_attention_has_one_memory(self):
        attentions = built(DotAttention())
        assert isinstance(attentions.prepare(draw(B, TV, D)), Memory)

    def test_memories_may_be_plain_lists(self):
        plain = ["keys", "values", None]
        want = Memory("keys", "values")
        assert Attentions(DotAttention()).as_memories(plain) == [want]
        assert both().as_memories([plain, plain]) == [want, want]

    def test_attention_needs_a_memory(self):
        attentions = both()
        with pytest.raises(ValueError, match="encoder's output"):
            attentions.prepare(None)
        with pytest.raises(ValueError, match="encoder's output"):
            attentions.as_memories(None)


class TestStates:
    @pytest.mark.parametrize("beams", [None, 1, K])
    def test_are_one_flat_list(self, beams):
        attentions = Attentions([*both(), *built(CountingAttention())])
        memories = attentions.prepare(draw(B, TV, D))
        states = attentions.initial_states(memories, beams)
        middle = (beams,) if beams else ()
        shapes = [(B, *middle), (B, *middle, 1)] * 2
        assert [tuple(x.shape) for x in states] == shapes


class TestNoise:
    @pytest.mark.parametrize("beams", [None, 1, K])
    def test_is_drawn_for_each(self, beams):
        attentions = Attentions([*both(dropout=0.5), *built(DotAttention())])
        memories = attentions.prepare(draw(B, TV, D))
        *drawn, nothing = attentions.draw_noise(memories, 7, beams)
        middle = (beams,) if beams else ()
        assert nothing is None
        for noise in drawn:
            assert tuple(noise.shape) == (7, B, *middle, TV)

    def test_none_have_none(self):
        assert Attentions(None).draw_noise([], 7) is None


class TestAttend:
    def attend(self, query, states=None, noise=None, beams=None):
        attentions = both()
        memories = attentions.prepare(draw(B, TV, D, seed=1), MASK)
        if states is None:
            states = attentions.initial_states(memories, beams)
        given = attentions.attend(query, memories, states, noise)
        return [[to_numpy(x) for x in part] for part in given]

    def test_beams_are_the_same_without_an_axis(self):
        query, attentions = draw(B, K, D), both()
        memories = attentions.prepare(draw(B, TV, D, seed=1), MASK)
        states = attentions.initial_states(memories, beams=K)
        together = attentions.attend(query, memories, states)
        for k in range(K):
            states = attentions.initial_states(memories)
            alone = attentions.attend(query[:, k], memories, states)
            for part, own in zip(together, alone, strict=True):
                for x, y in zip(part, own, strict=True):
                    x, y = to_numpy(x), to_numpy(y)
                    np.testing.assert_allclose(x[:, k], y, atol=1e-6)

    def test_shapes(self):
        contexts, weights, _ = self.attend(draw(B, D))
        assert [x.shape for x in contexts] == [(B, D)] * 2
        assert [x.shape for x in weights] == [(B, TV)] * 2
        contexts, weights, _ = self.attend(draw(B, K, D), beams=K)
        assert [x.shape for x in contexts] == [(B, K, D)] * 2
        assert [x.shape for x in weights] == [(B, K, TV)] * 2

    def test_the_mask_holds_for_all(self):
        _, weights, _ = self.attend(draw(B, D))
        for x in weights:
            assert (x[~MASK] == 0).all()

    def test_states_go_to_their_attention_and_on(self):
        attentions = Attentions([*both(), *built(CountingAttention())])
        memories = attentions.prepare(draw(B, TV, D))
        before = [np.full((B, 1)[: 1 + n % 2], 10.0 * n) for n in range(4)]
        _, _, after = attentions.attend(draw(B, D), memories, before)
        counts = [to_numpy(x).ravel().tolist() for x in after]
        assert counts == [[1.0] * B, [10.5] * B, [21.0] * B, [30.5] * B]

    def test_noise_goes_to_its_attention(self):
        noise = [ops.zeros((B, TV)), ops.ones((B, TV))]
        contexts, weights, _ = self.attend(draw(B, D), noise=noise)
        assert (contexts[0] == 0).all()
        assert (contexts[1] != 0).all()
        np.testing.assert_allclose(weights[0].sum(-1), 1, atol=1e-6)

    def test_nothing_to_ask(self):
        assert Attentions(None).attend(draw(B, D), [], []) == ([], [], [])


@pytest.mark.parametrize("empty", [[], ()])
def test_a_list_has_a_layer(empty):
    with pytest.raises(ValueError, match=r"at least one layer.*attention=None"):
        Attentions(empty)
