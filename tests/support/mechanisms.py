"""Every mechanism, every alignment and every order, in tiny models.

What is public and has no entry here is made as in `tests/golden/weights.json`.
"""

import inspect
import json
from functools import partial
from pathlib import Path

import keras
import numpy as np
import samples
from seq2seqs import built_model

import keras_attention as ka

WORDS, UNITS = 12, 6  # ids of either side; of the cell and of the memory
MECHANISMS = {
    "additive": lambda a: ka.BahdanauAttention(3, alignment=a),
    "normalized": lambda a: ka.BahdanauAttention(3, True, alignment=a),
    "location": lambda a: ka.LocationAttention(4, alignment=a),
    "location-aware": lambda a: ka.LocationAwareAttention(3, 2, 3, alignment=a),
    "cumulative": lambda a: ka.LocationAwareAttention(
        3, 2, 4, cumulative=True, alignment=a
    ),
    "dynamic-convolution": lambda a: ka.DynamicConvolutionAttention(
        3, 2, 2, kernel_size=3, prior_length=3, prior_alpha=1.0, alignment=a
    ),
    "coverage": lambda a: ka.CoverageAttention(3, 0.5, alignment=a),
    "heads": lambda a: ka.MultiHead(ka.DotAttention("sqrt", alignment=a), 2, 3),
    "additive-heads": lambda a: ka.MultiHead(
        ka.BahdanauAttention(3, alignment=a), 2
    ),
}
ALONE = {  # weights of their own: no alignment
    "gaussian-mixture": lambda: ka.GaussianMixtureAttention(2),
    "chunkwise": lambda: ka.ChunkwiseAttention(
        ka.BahdanauAttention(3, True, alignment=ka.Monotonic()),
        ka.LuongGeneral(),
        chunk_size=2,
    ),
}
ALIGNMENTS = {
    "softmax": "softmax",
    "sparsemax": "sparsemax",
    "entmax15": "entmax15",
    "parallel": ka.Monotonic(sigmoid_noise=0.5),
    "recursive": ka.Monotonic("recursive"),
    "hard": ka.Monotonic("hard", score_bias=0.5),
    "stepwise": ka.Monotonic(sigmoid_noise=0.5, stepwise=True),
    "forward": ka.ForwardAlignment(),
    "transition-agent": ka.ForwardAlignment(transition_agent=True),
    "local-m": ka.LocalMonotonic(1),
    "local-p": ka.LocalPredictive(2),
}
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "weights.json").read_text()
)


def public(base: type) -> dict[str, type]:
    """All public classes made of a base, by names such as `"cosine"`."""
    suffix = base.__name__.removeprefix("Abstract")
    kinds = [getattr(ka, name) for name in ka.__all__]
    return {
        kind.__name__.removesuffix(suffix).lower(): kind
        for kind in kinds
        if inspect.isclass(kind) and issubclass(kind, base)
        if not kind.__name__.startswith("Abstract")
    }


def _make(kind, alignment):
    arguments = GOLDEN[kind.__name__]["arguments"]
    return kind.from_config({**arguments, "alignment": alignment})


_listed = {type(make("softmax")) for make in MECHANISMS.values()}
_listed |= {type(make()) for make in ALONE.values()}
_listed |= {type(alignment) for alignment in ALIGNMENTS.values()}
for _name, _kind in public(ka.AbstractAttention).items():
    if _kind not in _listed:
        MECHANISMS[_name] = partial(_make, _kind)
for _name, _kind in public(ka.AbstractAlignment).items():
    if _kind not in _listed:
        ALIGNMENTS[_name] = _kind()
ORDERS = {
    "bahdanau": {},
    "luong": {"order": "luong", "attention_layer_size": 5},
    "luong-unfed": {"order": "luong", "input_feeding": False},
}
# The alignment of each mechanism in each of these orders. A column has every
# alignment: it makes a model that has a layer of each mechanism.
PAIRS = {
    "additive": ("softmax", "parallel", "forward"),
    "normalized": ("parallel", "hard", "softmax"),
    "location": ("local-p", "sparsemax", "recursive"),
    "location-aware": ("forward", "softmax", "entmax15"),
    "cumulative": ("sparsemax", "transition-agent", "local-m"),
    "dynamic-convolution": ("entmax15", "local-m", "sparsemax"),
    "coverage": ("recursive", "forward", "local-p"),
    "heads": ("local-m", "entmax15", "parallel"),
    "additive-heads": ("stepwise", "recursive", "hard"),
    "cosine": ("hard", "local-p", "stepwise"),
    "dot": ("transition-agent", "stepwise", "transition-agent"),
    "kernel": ("parallel", "softmax", "entmax15"),
    "luonggeneral": ("recursive", "hard", "parallel"),
}


def pairs(order: str) -> list:
    """Name each mechanism and its alignment in an order."""
    return [
        (mechanism, dict(zip(ORDERS, alignments, strict=True))[order])
        for mechanism, alignments in PAIRS.items()
    ]


def make_attentions(order: str) -> list:
    """Make the layers of `pairs(order)`, and those without an alignment."""
    layers = [MECHANISMS[m](ALIGNMENTS[a]) for m, a in pairs(order)]
    return [*layers, *[make() for make in ALONE.values()]]


def make_model(
    attention, order: str, words: int = WORDS, **options
) -> ka.Seq2Seq:
    """Make a tiny model with random weights, as large as after training."""
    keras.utils.set_random_seed(0)
    model = built_model(
        UNITS,
        attention,
        words,
        embedding_dim=4,
        encoder=ka.RecurrentEncoder(UNITS // 2, cell="gru"),
        **ORDERS[order],
        **options,
    )
    samples.randomize(model)
    return model


def draw_ids(lengths, seed: int = 0) -> np.ndarray:
    """Draw ids `(B, T)`: start, words, end, and 0 after that."""
    size = max(lengths)
    ids = np.random.default_rng(seed).integers(4, WORDS, (len(lengths), size))
    ids[:, 0] = 2
    ids[np.arange(len(lengths)), np.array(lengths) - 1] = 3
    return (ids * samples.mask(lengths, size)).astype("int32")
