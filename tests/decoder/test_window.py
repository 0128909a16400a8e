"""AttentionWindow: at inference a step attends near the last one."""

import json

import keras
import mechanisms
import numpy as np
import pytest
import samples
from gradients import to_numpy
from keras import ops
from samples import assert_close
from tiers import some

import keras_attention as ka
from keras_attention.decoder.window import AttentionWindow

B, K, T, TV, D = 2, 2, 4, 9, 6
REAL = np.array([[1] * 9, [0, 0, 1, 1, 1, 1, 1, 0, 0]], bool)
SCORED = {  # only near the last position
    **{
        name: lambda name=name: mechanisms.MECHANISMS[name]("softmax")
        for name in (
            "additive",
            "luonggeneral",
            "dot",
            "cosine",
            "kernel",
            "location-aware",
            "cumulative",
            "dynamic-convolution",
            "coverage",
            "heads",
        )
    },
    "sparse": lambda: ka.DotAttention(alignment="sparsemax"),
}
MASKED = {  # where it is far from there
    "location": lambda: ka.LocationAttention(7),
    "monotonic": lambda: ka.BahdanauAttention(3, alignment=ka.Monotonic()),
    "local-p": lambda: ka.LuongGeneral(alignment=ka.LocalPredictive(2)),
    "heads-with-states": lambda: ka.MultiHead(ka.CoverageAttention(3), 2),
    **mechanisms.ALONE,
}
EVERY = {**SCORED, **MASKED}


def draw(*shape, seed=0):
    return samples.draw(*shape, seed=seed, dtype="float32")


def make_layer(name):
    layer = EVERY[name]()
    layer.build((None, None, D), (None, None, D))
    samples.randomize(layer)
    return layer


def within(window, layer, memory, last):
    """Attend step by step within a window that follows the weights."""
    state, every = layer.initial_state(memory, beams=K), []
    state = *state, ops.convert_to_tensor(last.astype("float32"))
    for t in range(T):
        query = draw(B, K, D, seed=t)
        *given, state = window.step(layer, query, memory, state)
        every.append(given)
    return every


def masked(window, layer, memory, last):
    """The same, by masks that are made of the weights in NumPy."""
    state, every = layer.initial_state(memory, beams=K), []
    for t in range(T):
        ahead = np.arange(TV) - last
        near = (ahead >= -window.before) & (ahead <= window.after)
        *given, state = layer.step(
            draw(B, K, D, seed=t), memory, state, attention_mask=near
        )
        every.append(given)
        weights = to_numpy(given[1])
        assert (weights[~near] == 0).all()
        best = weights.argmax(-1)[..., None]
        last = np.where(weights.max(-1, keepdims=True) > 0, best, last)
    return every


@pytest.mark.parametrize("name", EVERY)
def test_attends_near_the_largest_weight_of_the_step_before(name, monkeypatch):
    layer, window = make_layer(name), AttentionWindow(1, 2)
    memory = layer.prepare(draw(B, TV, D), value_mask=REAL)
    last = np.array([[[0]] * K, [[2]] * K])
    want = masked(window, layer, memory, last)
    step, seen = layer.step, set()

    def watched(query, memory, *rest, **options):
        seen.add(tuple(ops.shape(memory[1])[:2]))
        return step(query, memory, *rest, **options)

    monkeypatch.setattr(layer, "step", watched)
    assert_close(within(window, layer, memory, last), want, atol=2e-6)
    size = 4 + 2 * (layer.score_margin or 0)
    assert seen == {(B, TV) if name in MASKED else (B * K, size)}


@pytest.mark.parametrize("name", ["additive", "location-aware", "monotonic"])
def test_an_empty_source_has_no_weights(name):
    layer = make_layer(name)
    memory = layer.prepare(np.zeros((B, 0, D), "float32"))
    window = AttentionWindow(1, 2)
    for context, weights in within(window, layer, memory, np.zeros((B, K, 1))):
        assert (to_numpy(context) == 0).all()
        assert tuple(weights.shape) == (B, K, 0)


def make_decoder(window, attention=None, **options):
    if attention is None:
        attention = [
            ka.BahdanauAttention(5),
            ka.LocationAwareAttention(4, 2, 3),
        ]
    cell = ka.AttentionDecoderCell(
        keras.layers.GRUCell(D), attention, attention_window=window, **options
    )
    decoder = ka.AttentionDecoder(
        cell, return_state=True, return_attention_scores=True
    )
    decoder.build((None, None, 3), (None, None, D))
    samples.randomize(decoder)
    return decoder


@pytest.mark.parametrize("order", some(mechanisms.ORDERS, 1))
def test_a_decoder_sees_everything_in_training(order):
    options = mechanisms.ORDERS[order]
    given = draw(B, T, 3), draw(B, TV, D)
    sizes, found = [], []
    for window in (None, (TV, TV), (1, 1)):
        decoder = make_decoder(window, **options)
        for training in (True, False):
            out = decoder(*given, memory_mask=REAL, training=training)
            sizes.append(len(out))
            found.append(out[:2])
    count = sizes[0]
    assert sizes == [count] * 2 + [count + 2] * 4
    for same in found[1:5]:
        assert_close(same, found[0], atol=2e-6)
    weights = to_numpy(found[5][1][0])
    assert ((weights > 0).sum(-1) <= 3).all()
    assert abs(weights - to_numpy(found[0][1][0])).max() > 0.01


def test_states_are_told_and_continue():
    decoder = make_decoder((1, 2))
    sequence, memory = draw(B, T, 3), draw(B, TV, D)
    told = decoder(*[keras.KerasTensor(x.shape) for x in (sequence, memory)])
    _, whole, *states = decoder(sequence, memory)
    _, _, *states_told = told
    assert [x.shape for x in states_told] == [tuple(x.shape) for x in states]
    _, first, *states = decoder(sequence[:, :4], memory)
    _, second, *_ = decoder(sequence[:, 4:], memory, initial_state=states)
    for x, *parts in zip(whole, first, second, strict=True):
        parts = np.concatenate([to_numpy(part) for part in parts], axis=1)
        assert_close(parts, to_numpy(x), atol=1e-6)


def test_comes_back_from_its_config():
    cell = make_decoder((1, 2)).cell
    config = json.loads(json.dumps(cell.get_config()))
    assert config["attention_window"] == [1, 2]
    again = ka.AttentionDecoderCell.from_config(config)
    assert again.attention_window == cell.attention_window == (1, 2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (3, "must be None or a pair"),
        ((1, 2, 3), "must be None or a pair"),
        ("12", "must be None or a pair"),
        ((-1, 2), r"`attention_window\[0\]` must be an integer of at least 0"),
        ((1, 2.5), r"`attention_window\[1\]`"),
    ],
)
def test_refuses_what_is_no_window(wrong, words):
    with pytest.raises(ValueError, match=words):
        make_decoder(wrong)
    with pytest.raises(ValueError, match="`attention_window` needs attention"):
        ka.AttentionDecoderCell(
            keras.layers.GRUCell(3), None, attention_window=(1, 2)
        )
