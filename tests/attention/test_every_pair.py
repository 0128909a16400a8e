"""Every mechanism under every alignment, in a decoder and by itself."""

import keras
import numpy as np
import pytest
from gradients import to_numpy
from keras import ops
from mechanisms import ALIGNMENTS
from mechanisms import ALONE
from mechanisms import MECHANISMS
from tiers import THOROUGH

import keras_attention as ka

B, K, T, TV, D = 2, 3, 4, 5, 4
MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)
PAIRS = {
    f"{name}-{kind}": (make, alignment)
    for name, make in MECHANISMS.items()
    for kind, alignment in ALIGNMENTS.items()
}
PAIRS |= {
    name: (lambda _, make=make: make(), None) for name, make in ALONE.items()
}
# Every third pair, in either order by turns: so each mechanism, and each
# alignment, has four partners. A thorough run has all pairs in both orders.
ORDERED = [
    pytest.param(
        *pair,
        order,
        id=f"{name}-{order}",
        marks=[] if turn % 6 == 3 * later or name in ALONE else [THOROUGH],
    )
    for turn, (name, pair) in enumerate(PAIRS.items())
    for later, order in enumerate(["bahdanau", "luong"])
]
CALLED = [  # the pairs after those
    pytest.param(
        *pair,
        id=name,
        marks=[] if turn % 3 == 1 or name in ALONE else [THOROUGH],
    )
    for turn, (name, pair) in enumerate(PAIRS.items())
]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.slow
@pytest.mark.parametrize(("make", "alignment", "order"), ORDERED)
def test_a_decoder_takes_steps_with_beams(make, alignment, order):
    """`K` beams are `K` sentences, their states and noise included."""
    cell = ka.AttentionDecoderCell(
        keras.layers.LSTMCell(D), make(alignment), order=order
    )
    cell.build((None, 3), (None, None, D))
    memory = cell.prepare(draw(B, TV, D), MASK)
    start = [draw(B, D, seed=1), draw(B, D, seed=2)]
    states = cell.initial_state(memory, start, beams=K)
    noise = cell.draw_noise(memory, 2, beams=K)
    words = draw(2, B, K, 3, seed=3)
    alone = [cell.initial_state(memory, start) for _ in range(K)]
    for t in range(2):
        drawn = None if noise is None else noise[t]
        output, weights, states = cell.step(
            words[t], states, memory, None, drawn
        )
        assert all(tuple(x.shape[:2]) == (B, K) for x in states)
        assert tuple(weights.shape) == (B, K, TV)
        for k in range(K):
            own = None if drawn is None else drawn[:, k]
            one, weight, alone[k] = cell.step(
                words[t, :, k], alone[k], memory, None, own
            )
            pairs = [(one, output), (weight, weights)]
            for x, y in [*pairs, *zip(alone[k], states, strict=True)]:
                x, y = to_numpy(x), to_numpy(y)
                assert np.isfinite(x).all()
                np.testing.assert_allclose(x, y[:, k], atol=1e-5)


@pytest.mark.parametrize(("make", "alignment"), CALLED)
def test_a_call_is_its_steps_in_order(make, alignment):
    layer = make(alignment)
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
