"""Arguments that attentions and alignments refuse, each by its name."""

import inspect

import numpy as np
import pytest

import keras_attention as ka

GIVEN = {
    "attention": ka.DotAttention(),
    "chunk": ka.DotAttention(),
    "chunk_size": 2,
    "components": 2,
    "filters": 2,
    "kernel_size": 3,
    "max_length": 4,
    "monotonic": ka.DotAttention(alignment=ka.Monotonic()),
    "num_heads": 2,
    "units": 4,
    "window": 2,
}
POSITIVE = {
    ka.AttentionPooling: ["units"],
    ka.BahdanauAttention: ["units"],
    ka.ChunkwiseAttention: ["chunk_size"],
    ka.CosineAttention: ["beta"],
    ka.CoverageAttention: ["units"],
    ka.DynamicConvolutionAttention: [
        *("units", "static_filters", "dynamic_filters", "kernel_size"),
        *("prior_length", "prior_alpha", "prior_beta"),
    ],
    ka.GaussianMixtureAttention: ["components"],
    ka.GraphAttention: ["units", "heads"],
    ka.KernelAttention: ["bandwidth"],
    ka.LocalMonotonic: ["window"],
    ka.LocalPredictive: ["window"],
    ka.LocationAttention: ["max_length"],
    ka.LocationAwareAttention: ["units", "filters", "kernel_size"],
    ka.MultiHead: ["num_heads", "key_dim", "value_dim", "output_dim"],
    ka.SelfAttention: ["width"],
}
WRONG = [
    *[
        (kind, name, wrong, "a positive")
        for kind, names in POSITIVE.items()
        for name in names
        for wrong in (0, -1, "many")
    ],
    (ka.ChunkwiseAttention, "chunk_size", True, "a positive integer"),
    (ka.CoverageAttention, "coverage_loss", -1.0, "a non-negative"),
    *[
        (ka.DotAttention, "scale", wrong, "one of .*'sqrt', 'learned'")
        for wrong in ("root", 2.0, True)
    ],
    (ka.GraphAttention, "version", 3, "one of"),
    (ka.LuongGeneral, "use_scale", "root", "one of"),
    (ka.Monotonic, "sigmoid_noise", -1.0, "a non-negative"),
    *[
        (kind, "dropout", rate, r"in \[0, 1\)")
        for kind in (ka.DotAttention, ka.GraphAttention, ka.AttentionPooling)
        for rate in (-0.1, 1.0)
    ],
]


@pytest.mark.parametrize(("kind", "name", "wrong", "says"), WRONG)
def test_a_wrong_value_is_refused(kind, name, wrong, says):
    known = inspect.signature(kind.__init__).parameters
    given = {k: x for k, x in GIVEN.items() if k in known}
    kind(**given)
    with pytest.raises(ValueError, match=f"`{name}` must be {says}.*{wrong!r}"):
        kind(**{**given, name: wrong})


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (ka.AttentionPooling(4), "x"),
        (ka.GraphAttention(4), "nodes"),
        (ka.SelfAttention(ka.BahdanauAttention(4)), "x"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_a_sequence_and_its_mask_have_shapes(layer, name):
    edges = [np.ones((2, 3, 3), bool)] if name == "nodes" else []
    needs = rf"{type(layer).__name__} needs `{name}` of the shape"
    with pytest.raises(ValueError, match=needs):
        layer(np.ones((2, 3)), *edges)
    with pytest.raises(ValueError, match=r"`mask` as booleans.*lengths"):
        layer(np.ones((2, 3, 4)), *edges, mask=np.array([3, 2]))


@pytest.mark.parametrize(
    "kind", [ka.CosineAttention, ka.DotAttention, ka.KernelAttention]
)
def test_query_and_key_are_of_one_size_and_the_value_of_any(kind):
    with pytest.raises(ValueError, match="LuongGeneral"):
        kind()(np.ones((1, 1, 3)), np.ones((1, 1, 4)))
    key = np.ones((1, 2, 3))
    assert kind()(key[:, :1], np.ones((1, 2, 7)), key).shape == (1, 1, 7)
