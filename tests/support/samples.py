"""What tests of decoders are made of: arrays, masks, cells with weights."""

import gradients
import keras
import numpy as np

import keras_attention as ka

BATCH, STEPS, WORDS = 3, 4, 5  # rows, target steps, source words
DIM, DV = 3, 6  # features of the target and of the source
UNITS = 6  # of a cell: what DotAttention needs, equal to DV

# Keras' own `tanh` (JAX) and `add` (torch) return float32 for float64.
EXACT = 1e-10 if keras.backend.backend() == "tensorflow" else 2e-6

ATTENTIONS = {
    "bahdanau": lambda **kwargs: ka.BahdanauAttention(5, **kwargs),
    "normalized": lambda **kwargs: ka.BahdanauAttention(
        5, normalize=True, **kwargs
    ),
    "general": lambda **kwargs: ka.LuongGeneral(use_scale=True, **kwargs),
    "dot": lambda **kwargs: ka.DotAttention(**kwargs),
    "cosine": lambda **kwargs: ka.CosineAttention(beta=3.0, **kwargs),
    "location": lambda **kwargs: ka.LocationAttention(max_length=8, **kwargs),
    "heads": lambda **kwargs: ka.MultiHead(
        ka.DotAttention("sqrt"), 2, 4, output_dim=DV, **kwargs
    ),
}
CELLS = {
    "lstm": lambda **kwargs: keras.layers.LSTMCell(UNITS, **kwargs),
    "gru": lambda **kwargs: keras.layers.GRUCell(UNITS, **kwargs),
    "layer-norm": lambda **kwargs: ka.LayerNormLSTMCell(UNITS, **kwargs),
    "stack": lambda **kwargs: [
        keras.layers.LSTMCell(4, **kwargs),
        keras.layers.GRUCell(UNITS, **kwargs),
    ],
}


def make_cell(
    cell="lstm", attention="bahdanau", dtype="float64", own=None, **kwargs
):
    """Make a decoder cell; `own` are arguments of the inner cells alone."""
    if isinstance(attention, str):
        attention = ATTENTIONS[attention](dtype=dtype)
    inner = CELLS[cell](dtype=dtype, **(own or {}))
    return ka.AttentionDecoderCell(inner, attention, dtype=dtype, **kwargs)


def draw(*shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def sequence(dtype="float64", steps=STEPS):
    return draw(BATCH, steps, DIM, seed=1, dtype=dtype)


def source(dtype="float64", words=WORDS):
    return draw(BATCH, words, DV, seed=2, dtype=dtype)


def mask(lengths, size):
    return np.arange(size) < np.array(lengths)[:, None]


def sequence_mask():
    return mask([4, 2, 3], STEPS)


def memory_mask():
    return mask([3, 5, 1], WORDS)


def build(decoder):
    """Build a decoder without a call, and make its weights random."""
    has_memory = bool(decoder.cell.attentions)
    memory_shape = (None, None, DV) if has_memory else None
    decoder.build((None, None, DIM), memory_shape)
    randomize(decoder)
    return decoder


def first_states(decoder):
    """Random states for all cells of a decoder."""
    sizes = [np.ravel(cell.state_size) for cell in decoder.cell.cells]
    return [
        draw(BATCH, size, seed=10 + i)
        for i, size in enumerate(np.concatenate(sizes))
    ]


def randomize(layer, seed=3, scale=0.5):
    """Give every weight of a built layer random values, biases included."""
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(scale * rng.normal(size=weight.shape))


def to_numpy(x):
    """Convert every tensor of a structure."""
    return keras.tree.map_structure(
        lambda x: None if x is None else gradients.to_numpy(x), x
    )


def assert_close(got, want, atol=EXACT):
    """Compare two structures of arrays, leaf by leaf."""
    got, want = keras.tree.flatten(got), keras.tree.flatten(want)
    for x, y in zip(to_numpy(got), to_numpy(want), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, atol=atol, rtol=0)
