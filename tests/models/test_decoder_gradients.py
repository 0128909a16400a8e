"""AttentionDecoder: its gradient is the slope of the oracle, every way."""

import keras
import numpy as np
import pytest
import samples
from differentiate import differentiate
from gradients import to_tensor
from keras import ops
from reference import ReferenceDecoder
from samples import first_states
from samples import make_cell

from keras_attention import AttentionDecoder

WAYS = {
    "tensorflow": [None, "graph", "xla"],
    "jax": ["xla"],
    "torch": [None],
}[keras.backend.backend()]
MASKS = {
    "sequence_mask": samples.sequence_mask(),
    "memory_mask": samples.memory_mask(),
}
CASES = {
    "lstm": ("lstm", "normalized", {"attention_layer_size": 7}),
    "gru": ("gru", "location", {}),
    "stack": ("stack", "general", {"output": "cell"}),
}


def make(case, order):
    cell, attention, options = CASES[case]
    return samples.build(
        AttentionDecoder(
            make_cell(cell, attention, order=order, **options),
            return_state=True,
            return_attention_scores=True,
            dtype="float64",
        )
    )


def slope(decoder, arrays, n, direction, eps=1e-5):
    """Of the oracle, along a direction in array or weight `n`."""
    every = [*arrays, *decoder.trainable_variables]

    def at(distance):
        moved = list(arrays)
        if n < len(arrays):
            moved[n] = arrays[n] + distance * direction
            return evaluate(moved)
        weight = every[n]
        before = np.array(weight.numpy())
        weight.assign(before + distance * direction)
        value = evaluate(moved)
        weight.assign(before)
        return value

    def evaluate(moved):
        found = ReferenceDecoder(decoder.cell).run(
            *moved[:2], moved[2:], **MASKS
        )
        flat = keras.tree.flatten(found)
        return sum(
            np.sum(x * samples.draw(*x.shape, seed=30 + i))
            for i, x in enumerate(flat)
        )

    return (at(eps) - at(-eps)) / (2 * eps)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_gradients_are_slopes(order, case):
    decoder = make(case, order)
    arrays = [samples.sequence(), samples.source(), *first_states(decoder)]
    weights = decoder.trainable_variables
    assert len(weights) == len(decoder.weights)

    def run(sequence, memory, *states):
        found = decoder(sequence, memory, initial_state=states, **MASKS)
        return sum(
            ops.sum(x * to_tensor(samples.draw(*x.shape, seed=30 + i)))
            for i, x in enumerate(found)
        )

    results = [differentiate(run, arrays, weights, way) for way in WAYS]
    for n, array in enumerate([*arrays, *weights]):
        direction = samples.draw(*array.shape, seed=n)
        want = slope(decoder, arrays, n, direction)
        for way, (_, found) in zip(WAYS, results, strict=True):
            got = np.sum(found[n] * direction)
            atol = 10 * max(samples.EXACT, 1e-9)
            assert got == pytest.approx(want, abs=atol, rel=1e-6), (way, n)
