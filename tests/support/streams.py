"""Tiny models that can be streamed, and what their streams must write."""

import contextlib
import itertools

import keras
import numpy as np
import samples
from gradients import to_numpy
from keras import layers
from seq2seqs import built_model

import keras_attention as ka

WORDS = 8  # ids of either side
FEATURES = 3
UNITS = 6
LONGEST = 9  # words of a text


def hard(score_bias=0.0, units=4, strict=False, **options):
    """Make an attention that reads on."""
    alignment = ka.Monotonic("hard", score_bias=score_bias, strict=strict)
    return ka.BahdanauAttention(units, alignment=alignment, **options)


def chunkwise(size=3):
    """Make a chunkwise attention that reads on."""
    return ka.ChunkwiseAttention(hard(), ka.BahdanauAttention(3), size)


LUONG = {"order": "luong", "attention_layer_size": 5}
MODELS = {
    "lstm": lambda: (
        ka.RecurrentEncoder(UNITS, bidirectional=False),
        ka.AttentionDecoderCell(layers.LSTMCell(UNITS), hard()),
    ),
    "stack, luong, chunkwise": lambda: (
        ka.RecurrentEncoder(
            UNITS,
            2,
            "gru",
            bidirectional=False,
            residual=True,
            append_inputs=True,
        ),
        ka.AttentionDecoderCell(
            [layers.GRUCell(UNITS), layers.GRUCell(UNITS)],
            [chunkwise(), ka.LuongGeneral(alignment=ka.Monotonic("hard"))],
            **LUONG,
        ),
    ),
    "chunkwise": lambda: (
        layers.LSTM(UNITS, return_sequences=True),
        ka.AttentionDecoderCell(layers.GRUCell(UNITS), chunkwise(4)),
    ),
    "no states, window": lambda: (
        layers.SimpleRNN(UNITS, return_sequences=True),
        ka.AttentionDecoderCell(
            layers.GRUCell(UNITS),
            ka.DotAttention(alignment=ka.LocalMonotonic(1)),
        ),
    ),
    "layer norm, unfed, both kinds": lambda: (
        ka.RecurrentEncoder(UNITS, 1, "layer_norm_lstm", bidirectional=False),
        ka.AttentionDecoderCell(
            layers.LSTMCell(UNITS),
            [
                ka.CosineAttention(alignment=ka.LocalMonotonic(2)),
                hard(strict=True),
            ],
            order="luong",
            input_feeding=False,
        ),
    ),
}


SEEDS = {"lstm": 48, "stack, luong, chunkwise": 86}  # they stop here and there


def make_model(name="lstm", seed=None, features=False, **options) -> ka.Seq2Seq:
    """Make a model with random weights, as large as after training."""
    keras.utils.set_random_seed(0)
    encoder, cell = MODELS[name]()
    bridge = ka.StateBridge("zeros", bidirectional=False)
    if not getattr(encoder, "return_state", True):
        bridge = None
    model = built_model(
        cell,
        words=WORDS,
        features=FEATURES if features else None,
        encoder=encoder,
        bridge=bridge,
        **options,
    )
    samples.randomize(model, seed or SEEDS.get(name, 119), scale=1.0)
    return model


def draw_ids(lengths, seed=0) -> np.ndarray:
    """Draw ids `(B, T)` of these lengths, and 0 after that."""
    draw = np.random.default_rng(seed)
    ids = draw.integers(1, WORDS, (len(lengths), max(lengths)))
    return (ids * samples.mask(lengths, max(lengths))).astype("int32")


def generated(model, source, longest=LONGEST):
    """List the words that `generate` finds for each row, and its stops.

    A stop is the last position with any weight, of any attention; `None` if
    there is none.
    """
    found = model.generate(source, ka.GreedySearch(longest))
    tokens, lengths = (to_numpy(x)[:, 0] for x in (found.tokens, found.lengths))
    words = [row[:n].tolist() for row, n in zip(tokens, lengths, strict=True)]
    return words, to_numpy(found.weights)[:, 0]


@contextlib.contextmanager
def changed(weight, value):
    """Give a weight another value for a while."""
    before = to_numpy(weight)
    weight.assign(np.broadcast_to(value, before.shape))
    yield
    weight.assign(before)


def streamed(model, source, sizes, longest=LONGEST, masks=None) -> list:
    """List what each step of a stream gives, for parts of these sizes."""
    stream = model.stream(longest, len(source))
    steps, first = [], 0
    for size in sizes:
        part = slice(first, first + size)
        mask = None if masks is None else masks[:, part]
        steps.append(stream.push(source[:, part], mask))
        first += size
    return [*steps, stream.end()]


def joined(steps) -> list:
    """Join the words of each row."""
    rows = zip(*steps, strict=True)
    return [list(itertools.chain(*row)) for row in rows]
