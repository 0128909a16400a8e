"""AttentionDecoder: its gradient is the slope of the oracle, every way."""

import keras
import numpy as np
import pytest
import samples
from gradients import WAYS
from gradients import differentiate
from gradients import to_tensor
from keras import ops
from reference import ReferenceDecoder
from samples import first_states
from samples import make_cell
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention.backend import backend
from keras_attention.ops import replay

MASKS = {
    "sequence_mask": samples.sequence_mask(),
    "memory_mask": samples.memory_mask(),
}
AFTERWARDS = {  # attention follows the loop, since nothing is fed back
    "input_feeding": False,
    "attention_layer_size": 7,
    "attention_use_bias": True,
}
CASES = {
    "lstm": ("lstm", "normalized", {"attention_layer_size": 7}),
    "stack": ("stack", "general", {"output": "cell"}),
    "layer-norm": ("layer-norm", "dot", {}),
    "afterwards": ("lstm", "normalized", AFTERWARDS),
    "location": ("gru", "location", {}),
    "heads": ("layer-norm", "heads", {}),
}
TURNS = [
    ("luong", "afterwards"),
    ("bahdanau", "lstm"),
    ("luong", "stack"),
    ("bahdanau", "layer-norm"),
    ("luong", "lstm"),
    ("bahdanau", "stack"),
    ("luong", "layer-norm"),
]
MORE = [("luong", "location"), ("bahdanau", "heads")]


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


@pytest.mark.slow
@pytest.mark.parametrize(("order", "case"), some(TURNS, 5))
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

    assert decoder.cell.attends_afterwards == (case == "afterwards")
    often = case in ("lstm", "afterwards")
    ways = WAYS if often else WAYS[len(WAYS) // 2 :][:1]
    results = [differentiate(run, arrays, weights, way) for way in ways]
    for n, array in enumerate([*arrays, *weights]):
        direction = samples.draw(*array.shape, seed=n)
        want = slope(decoder, arrays, n, direction)
        for way, (_, found) in zip(ways, results, strict=True):
            got = np.sum(found[n] * direction)
            atol = 10 * max(samples.EXACT, 1e-9)
            assert got == pytest.approx(want, abs=atol, rel=1e-6), (way, n)


@pytest.mark.skipif(
    keras.backend.backend() == "jax" or not backend.has_custom_gradients,
    reason="JAX gives zeros for no gradient, which XLA takes out",
)
@pytest.mark.parametrize(("order", "case"), some([*MORE, *TURNS], 5))
def test_the_gradient_of_no_kernel_is_taken_in_the_loop(
    order, case, monkeypatch
):
    seen = []
    read = replay._Loop._read_by_the_step

    def watched(loop, *arguments):
        seen.append((loop, read(loop, *arguments)))
        return seen[-1][1]

    monkeypatch.setattr(replay._Loop, "_read_by_the_step", watched)
    decoder = make(case, order)
    arrays = [samples.sequence(), samples.source(), *first_states(decoder)]

    def run(sequence, memory, *states):
        found = decoder(sequence, memory, initial_state=states, **MASKS)
        return sum(ops.sum(x) for x in found)

    differentiate(run, arrays, decoder.trainable_variables)
    [(loop, found)] = seen
    variables = loop.step.variables
    read = [variables[k] for k in found if k < len(variables)]
    assert [
        x.path for x in read if len(x.shape) > 1 and "bias" not in x.path
    ] == []
    hoisted = [k for k in found if k >= len(loop.step.given)]
    assert hoisted == []
