"""AttentionDecoder: which mask counts, and what padding may not change."""

import keras
import numpy as np
import pytest
import samples
from gradients import differentiate
from keras import ops
from samples import BATCH
from samples import STEPS
from samples import WORDS
from samples import assert_close
from samples import first_states
from samples import make_cell
from samples import to_numpy

from keras_attention import AttentionDecoder

TARGET = np.array([[5, 6, 7, 8], [3, 4, 0, 0], [2, 9, 4, 0]])
SOURCE = np.array([[3, 4, 5, 0, 0], [6, 7, 8, 9, 1], [2, 0, 0, 0, 0]])


def make(cell="lstm", attention="bahdanau", **kwargs):
    return samples.build(
        AttentionDecoder(
            make_cell(cell, attention, **kwargs),
            return_state=True,
            return_attention_scores=attention is not None,
            dtype="float64",
        )
    )


def embed(ids, size, seed, mask_zero=True):
    layer = keras.layers.Embedding(
        10, size, mask_zero=mask_zero, dtype="float64"
    )
    layer.build()
    samples.randomize(layer, seed)
    return layer(ids)


def embedded(mask_zero=True):
    return (
        embed(TARGET, samples.DIM, 1, mask_zero),
        embed(SOURCE, samples.DV, 2, mask_zero),
    )


# Which mask counts.


@pytest.mark.parametrize("given", ["sequence_mask", "memory_mask", "none"])
@pytest.mark.parametrize("with_states", [False, True])
def test_masks_of_embeddings_are_used(given, with_states):
    """One given explicitly does not keep the other from being found."""
    masks = {"sequence_mask": TARGET != 0, "memory_mask": SOURCE != 0}
    decoder, options = make(), {}
    if with_states:
        states = map(ops.convert_to_tensor, first_states(decoder))
        options["initial_state"] = list(states)
    want = decoder(*embedded(mask_zero=False), **masks, **options)
    found = {k: v for k, v in masks.items() if k == given}
    assert_close(decoder(*embedded(), **found, **options), want, 0)


def test_an_explicit_mask_wins():
    decoder = make()
    masks = {
        "sequence_mask": samples.mask([1, 4, 2], STEPS),
        "memory_mask": samples.mask([5, 1, 2], WORDS),
    }
    want = decoder(*embedded(mask_zero=False), **masks)
    assert_close(decoder(*embedded(), **masks), want, 0)


@pytest.mark.parametrize("states", ["given", "default"])
def test_without_a_memory_the_sequence_s_own_mask_is_used(states):
    decoder = make("gru", None)
    given = {}
    if states == "given":
        given["initial_state"] = [
            ops.convert_to_tensor(x) for x in first_states(decoder)
        ]
    plain = embedded(mask_zero=False)[0]
    want = decoder(plain, sequence_mask=TARGET != 0, **given)
    assert_close(decoder(embedded()[0], **given), want, 0)
    other = {"sequence_mask": samples.mask([1, 4, 2], STEPS), **given}
    assert_close(decoder(embedded()[0], **other), decoder(plain, **other), 0)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["bahdanau", None])
def test_masks_are_used_in_a_functional_model(attention):
    decoder = make("gru", attention)
    layers = [
        keras.layers.Embedding(10, size, mask_zero=True, dtype="float64")
        for size in (samples.DIM, samples.DV)
    ]
    inputs = [keras.Input((None,), dtype="int32") for _ in layers]
    features = [e(x) for e, x in zip(layers, inputs, strict=True)]
    masks = {"sequence_mask": TARGET != 0}
    if attention is None:
        inputs, features = inputs[:1], features[:1]
    else:
        masks["memory_mask"] = SOURCE != 0
    model = keras.Model(inputs, decoder(*features))
    ids = [TARGET, SOURCE][: len(inputs)]
    plain = [
        ops.convert_to_tensor(ops.convert_to_numpy(e(x)))
        for e, x in zip(layers, ids, strict=False)
    ]
    want = decoder(*plain, **masks)
    assert_close(model.predict(ids, verbose=0), want, 1e-12)


def test_the_output_carries_the_target_s_mask():
    decoder = make()
    output, *rest = decoder(*embedded())
    np.testing.assert_array_equal(to_numpy(output._keras_mask), TARGET != 0)
    for x in rest:
        assert getattr(x, "_keras_mask", None) is None
    decoder.return_sequences = False
    assert getattr(decoder(*embedded())[0], "_keras_mask", None) is None


# What a masked step does.


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_at_a_masked_step_nothing_happens(order):
    """Holes and padding before the text count like padding after it."""
    decoder = make("stack", order=order)
    holes = np.array([[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1]], bool)
    x = samples.sequence()
    memory = samples.source()
    output, weights, *states = to_numpy(decoder(x, memory, sequence_mask=holes))
    assert (output[~holes] == 0).all()
    assert (weights[~holes] == 0).all()
    dense = x[holes].reshape(BATCH, 2, -1)
    output_2, weights_2, *states_2 = to_numpy(decoder(dense, memory))
    got = [output[holes], weights[holes], *states]
    want = [*(y.reshape(6, -1) for y in (output_2, weights_2)), *states_2]
    assert_close(got, want, 1e-12)


# What padding may not change.


def objective(decoder, masks, first=0):
    """A scalar of everything that a decoder returns for real words."""

    def run(sequence, memory, *states):
        found = decoder(sequence, memory, initial_state=states, **masks)
        total = 0.0
        for i, x in enumerate(found):
            rows = samples.draw(BATCH, *x.shape[1:], seed=20 + i)
            if i < 2:  # the same numbers, however long the padding is
                size = x.shape[-1] if i == 0 else WORDS
                rows = samples.draw(BATCH, STEPS, size, seed=20 + i)
                x = x[:, first : first + STEPS]
                x = x[:, :, first:][..., :size] if i else x
            total = total + ops.sum(x * ops.convert_to_tensor(rows))
        return total

    return run


@pytest.mark.slow
@pytest.mark.parametrize("order", ["bahdanau", "luong"])
@pytest.mark.parametrize(("garbage", "first"), [(1e4, 0), (np.nan, 2)])
def test_padding_changes_nothing(garbage, first, order):
    """Neither behind nor in front."""
    decoder = make("lstm", "bahdanau", order=order, attention_layer_size=7)
    arrays = [samples.sequence(), samples.source(), *first_states(decoder)]
    around = (0, 0), (first, 2), (0, 0)
    longer = [np.pad(x, around, constant_values=garbage) for x in arrays[:2]]
    real = [np.arange(x.shape[1]) >= first for x in longer]
    real = [x & (np.arange(len(x)) < len(x) - 2) for x in real]
    masks = {
        "sequence_mask": np.tile(real[0], (BATCH, 1)),
        "memory_mask": np.tile(real[1], (BATCH, 1)),
    }
    longer = [*longer, *arrays[2:]]
    weights = decoder.trainable_variables
    short = differentiate(objective(decoder, {}), arrays, weights)
    long = differentiate(objective(decoder, masks, first), longer, weights)
    for i, kept in enumerate(real):
        assert (long[1][i][:, ~kept] == 0).all()
        long[1][i] = long[1][i][:, kept]
    assert long[0] == pytest.approx(short[0], abs=samples.EXACT)
    for x, y in zip(long[1], short[1], strict=True):
        np.testing.assert_allclose(x, y, atol=10 * samples.EXACT)


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
@pytest.mark.parametrize("attention", ["normalized", "cosine"])
def test_rows_of_padding_alone_are_finite(attention, order):
    """An empty source gives no context; an empty target, its first states."""
    decoder = make("lstm", attention, order=order)
    masks = {
        "sequence_mask": samples.mask([2, 0, 4], STEPS),
        "memory_mask": samples.mask([0, 3, 0], WORDS),
    }
    arrays = [samples.sequence(), samples.source(), *first_states(decoder)]
    value, found = differentiate(
        objective(decoder, masks), arrays, decoder.trainable_variables
    )
    assert np.isfinite(value)
    assert all(np.isfinite(x).all() for x in found)
    output, weights, *states = to_numpy(
        decoder(*arrays[:2], initial_state=arrays[2:], **masks)
    )
    assert (output[1] == 0).all()
    assert (weights[[0, 2]] == 0).all()
    for x, y in zip(states[:2], arrays[2:], strict=True):
        np.testing.assert_array_equal(x[1], y[1])


def test_a_target_of_no_words():
    decoder = make("gru")
    x, memory = samples.sequence()[:, :0], samples.source()
    (state,) = first_states(decoder)
    found = to_numpy(decoder(x, memory, initial_state=state))
    assert found[0].shape == (BATCH, 0, samples.UNITS + samples.DV)
    assert found[1].shape == (BATCH, 0, WORDS)
    np.testing.assert_array_equal(found[2], state)
