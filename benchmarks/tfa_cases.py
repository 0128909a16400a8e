"""Tiny programs that TensorFlow Addons and ours both make, for golden files."""

from typing import NamedTuple

import numpy as np

SOURCE_WORDS, TARGET_WORDS = 11, 13
SIZE = 4  # of the embeddings
UNITS = 6  # of a decoder cell; of the encoder in both directions together
START, END = 2, 3
STEPS, BEAMS = 7, 3  # of a search
SOURCE = np.array([[2, 5, 6, 7, 3], [2, 4, 3, 0, 0], [2, 8, 10, 3, 0]])
TARGET = np.array([[2, 5, 12, 7], [2, 4, 0, 0], [2, 8, 4, 0]])


class Case(NamedTuple):
    """A program with attention.

    Attributes:
        mechanisms: For each one its class and its arguments.
        cells: `"lstm"`, `"gru"`, `"gru_before"` (without `reset_after`),
            `"rnn"` or `"layer_norm"`, bottom first.
        layers: Sizes of the attentional layers, one for each mechanism, or
            `None`.
        activation: Of an attentional layer with a bias that is the user's
            own, or `None` for the layer of TFA.
        encoder: `"lstm"` or `"gru"`.
        bridge: `"concat"`, `"dense"`, or `"none"`: zeros as first states.
        fed: Whether the attention is an input of the next step.
        output: Output of the wrapper: `"attention"` or `"cell"`.
    """

    mechanisms: tuple = (("BahdanauAttention", {"units": 5}),)
    cells: tuple = ("lstm",)
    layers: tuple | None = None
    activation: str | None = None
    encoder: str = "lstm"
    bridge: str = "concat"
    fed: bool = True
    output: str = "attention"


def _additive(kind="BahdanauAttention", **options):
    return (kind, {"units": 5, **options})


def _multiplicative(kind="LuongAttention", **options):
    return (kind, {"units": UNITS, **options})


MONOTONIC = "BahdanauMonotonicAttention"
LUONG_MONOTONIC = "LuongMonotonicAttention"
CASES = {
    "additive": Case(),
    "normalized": Case((_additive(normalize=True),), layers=(4,)),
    "hardmax": Case((_additive(probability_fn="hardmax"),), layers=(5,)),
    "luong": Case((_multiplicative(),), layers=(UNITS,)),
    "luong_scaled": Case((_multiplicative(scale=True),)),
    "luong_hardmax": Case((_multiplicative(probability_fn="hardmax"),)),
    "monotonic": Case((_additive(MONOTONIC, score_bias_init=-0.5),)),
    "monotonic_normalized": Case(
        (_additive(MONOTONIC, normalize=True, mode="recursive"),), layers=(4,)
    ),
    "monotonic_hard": Case((_additive(MONOTONIC, mode="hard"),)),
    "luong_monotonic": Case((_multiplicative(LUONG_MONOTONIC),)),
    "luong_monotonic_scaled": Case(
        (_multiplicative(LUONG_MONOTONIC, scale=True, mode="hard"),),
        layers=(4,),
    ),
    "two": Case((_additive(), _multiplicative(scale=True))),
    "two_layers": Case((_additive(), _additive()), layers=(3, 4)),
    "two_kinds": Case((_multiplicative(), _additive(MONOTONIC)), layers=(3, 4)),
    "gru": Case(cells=("gru",), encoder="gru", layers=(5,)),
    "gru_before": Case(cells=("gru_before",), encoder="gru"),
    "rnn": Case(cells=("rnn",), encoder="gru"),
    "layer_norm": Case(cells=("layer_norm",), layers=(4,)),
    "stacked": Case(cells=("lstm", "lstm"), layers=(4,)),
    "mixed": Case(cells=("gru", "lstm"), bridge="none"),
    "own_layer": Case(layers=(4,), activation="tanh"),
    "dense_bridge": Case(bridge="dense", layers=(4,)),
    "not_fed": Case(fed=False),
    "cell_output": Case(output="cell", layers=(4,)),
}
# Programs that are saved as files, in these formats.
FILES = {
    "checkpoint": "normalized",
    "h5": "monotonic_normalized",
    "weights.h5": "two_kinds",
    "saved_model": "luong_scaled",
}
