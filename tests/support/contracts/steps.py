"""Laws of `prepare` and `step`: a decoder sees what `call` computes."""

import keras
import numpy as np
import pytest
from contracts.case import POLICIES
from contracts.case import AttentionCase
from keras import ops
from tiers import some

from keras_attention import Memory

MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)


class StateLaws(AttentionCase):
    """What alignments obey too."""

    @pytest.mark.sharp
    @pytest.mark.parametrize(
        "policy",
        some([POLICIES[0], "float64", "float32", *POLICIES[1:]], 2),
    )
    def test_steps_are_the_call(self, policy):
        exact = policy == "float64"
        query, value = self.inputs(dtype=policy if exact else "float32")
        value[~MASK] = np.nan
        layer = self.trained(dtype=policy)
        plain = self.run(layer, query, value, value_mask=MASK)
        memory = layer.prepare(value, value_mask=MASK)
        stepped = self.run_steps(layer, query, memory)
        tolerance = {"float64": 1e-13, "float32": 1e-6}.get(policy, 2e-2)
        for x, y in zip(plain, stepped, strict=True):
            assert y.dtype == "float64" or not exact
            np.testing.assert_allclose(x, y, atol=tolerance)

    @pytest.mark.sharp
    def test_beams_carry_their_own_states(self):
        """Reordered in between, as a search does, they stay themselves."""
        query, value = self.inputs(steps=6)
        query = query.reshape(2, 2, 3, -1)  # two steps of three beams
        layer = self.trained()
        memory = layer.prepare(value, value_mask=MASK)
        *_, state = self.run_step(layer, query[:, 0], memory)
        order = [2, 0, 0]
        state = tuple(ops.take(x, order, axis=1) for x in state)
        *together, _ = self.run_step(layer, query[:, 1], memory, state)
        for k, origin in enumerate(order):
            own = np.stack([query[:, 0, origin], query[:, 1, k]], axis=1)
            alone = self.run_steps(layer, own, memory)
            for x, y in zip(together, alone, strict=True):
                np.testing.assert_allclose(x[:, k], y[:, 1], atol=1e-6)

    @pytest.mark.parametrize("beams", some([3, 1], 1))
    def test_initial_state_has_a_row_for_every_beam(self, beams):
        _, value = self.inputs()
        layer = self.trained()
        memory = layer.prepare(value, value_mask=MASK)
        for form in (memory, list(memory)):
            state = layer.initial_state(form, beams=beams)
            assert isinstance(state, tuple)
            assert len(state) == layer.state_count
            assert all(tuple(x.shape[:2]) == (2, beams) for x in state)
        state = layer.initial_state(memory)  # one beam is the default
        assert all(x.shape[1] == 1 for x in state)

    def test_a_memory_belongs_to_its_caller(self):
        """Nothing of a source stays on the layer for the next one."""
        query, value = self.inputs()
        layer = self.trained()
        memory = layer.prepare(value)
        before = self.run_steps(layer, query, memory)
        layer.prepare(np.ones((7, 2, self.value_size)))
        self.run(layer, query[:1], value[:1, :2])
        after = self.run_steps(layer, query, memory)
        for x, y in zip(before, after, strict=True):
            np.testing.assert_array_equal(x, y)


class StepLaws(StateLaws):
    """What layers obey."""

    @pytest.mark.parametrize("policy", some(["mixed_float16", "float32"], 1))
    def test_steps_take_what_a_call_takes(self, policy):
        """Arrays of any float dtype, and tensors."""
        query, value = self.inputs()
        layer = self.trained(dtype=policy)
        memory = layer.prepare(value)
        plain = self.run_steps(layer, query, memory)
        for form in (ops.convert_to_tensor, lambda x: x.astype("float64")):
            memory = layer.prepare(form(value))
            given = self.run_steps(layer, form(query), memory)
            for x, y in zip(plain, given, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(x, y, atol=1e-6)

    def test_a_key_of_its_own_is_prepared(self):
        query, value = self.inputs()
        key, layer = self.key(), self.layer()
        plain = self.run(layer, query, value, key=key, value_mask=MASK)
        memory = layer.prepare(value, key, MASK)
        stepped = self.run_steps(layer, query, memory)
        for x, y in zip(plain, stepped, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-6)

    def test_a_memory_may_be_a_plain_sequence(self):
        """Keras hands a NamedTuple on as a list, after a reload; or NumPy."""
        query, value = self.inputs()
        layer = self.trained()
        memory = layer.prepare(value, value_mask=MASK)
        assert isinstance(memory, Memory)
        plain = self.run_steps(layer, query, memory)
        arrays = [ops.convert_to_numpy(x) for x in memory]
        for form in (list(memory), tuple(memory), arrays):
            for x, y in zip(
                plain, self.run_steps(layer, query, form), strict=True
            ):
                np.testing.assert_array_equal(x, y)

    @pytest.mark.parametrize("policy", some(POLICIES, 1))
    def test_a_memory_is_in_the_compute_dtype(self, policy):
        _, value = self.inputs()
        layer = self.trained(dtype=policy)
        memory = layer.prepare(value)
        for x in (memory.keys, memory.values):
            dtype = keras.backend.standardize_dtype(x.dtype)
            assert dtype == layer.compute_dtype

    def test_needs_a_built_layer(self):
        query, value = self.inputs()
        layer = self.layer()
        with pytest.raises(ValueError, match=r"layer\.build\("):
            layer.prepare(value)
        with pytest.raises(ValueError, match=r"layer\.build\("):
            layer.step(query, (value, value, None))
        layer.build(query.shape, value.shape)
        self.run_steps(layer, query, layer.prepare(value))
