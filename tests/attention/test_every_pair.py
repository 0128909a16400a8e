"""Mechanisms under alignments, in a decoder and by themselves."""

import numpy as np
import pytest
from gradients import to_numpy
from keras import ops
from mechanisms import ALIGNMENTS
from mechanisms import ALONE
from mechanisms import MECHANISMS
from mechanisms import ORDERS
from mechanisms import PAIRS
from mechanisms import pairs

B, K, T, TV, D = 2, 3, 4, 5, 4
MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)
CASES = [
    pytest.param(
        lambda m=mechanism, a=alignment: MECHANISMS[m](ALIGNMENTS[a]),
        order,
        id=f"{mechanism}-{alignment}-{order}",
    )
    for order in ORDERS
    for mechanism, alignment in pairs(order)
]
CASES += [
    pytest.param(make, order, id=f"{name}-{order}")
    for name, make in ALONE.items()
    for order in ORDERS
]
every_pair = pytest.mark.parametrize(("make", "order"), CASES)


def test_every_mechanism_and_every_alignment_has_pairs():
    """Add a new one to `PAIRS` of `tests/support/mechanisms.py`."""
    assert set(PAIRS) == set(MECHANISMS)
    for order in ORDERS:
        assert {alignment for _, alignment in pairs(order)} == set(ALIGNMENTS)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


@every_pair
def test_a_call_is_its_steps_in_order(make, order):
    layer = make()
    query, value = draw(B, T, D, seed=1), draw(B, TV, D)
    out = layer(query, value, value_mask=MASK, return_attention_scores=True)
    memory = layer.prepare(value, value_mask=MASK)
    state = layer.initial_state(memory)
    assert len(state) == layer.state_count
    stepped = []
    for t in range(T):
        *given, state = layer.step(query[:, t : t + 1], memory, state)
        stepped.append(given)
    for x, y in zip(out, zip(*stepped, strict=True), strict=True):
        y = to_numpy(ops.concatenate(y, axis=1))
        np.testing.assert_allclose(to_numpy(x), y, atol=1e-5)
    assert (to_numpy(out[1])[np.repeat(~MASK[:, None], T, 1)] == 0).all()
    front, nothing = draw(B, 2, D, seed=2), np.zeros((B, 2), bool)
    context, weights = layer(
        query,
        np.concatenate([front, value], axis=1),
        value_mask=np.concatenate([nothing, MASK], axis=1),
        return_attention_scores=True,
    )
    for x, y in zip(out, (context, weights[:, :, 2:]), strict=True):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=1e-5)
