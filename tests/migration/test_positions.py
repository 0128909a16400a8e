"""name_positions: numbers of variables become names."""

import numpy as np
import pytest

from keras_attention.migration.positions import name_positions
from keras_attention.migration.stored import Stored

LAYERS = {
    "additive": ("vars", [(3,)], ["attention_v"]),
    "normalized": (
        "vars",
        [(3,), (), (3,)],
        ["attention_v", "attention_g", "attention_b"],
    ),
    "monotonic": (
        "vars",
        [(3,), (), (), (3,)],
        ["attention_v", "attention_score_bias", "attention_g", "attention_b"],
    ),
    "luong": ("luong_attention_1/vars", [()], ["attention_g"]),
    "luong_monotonic": (
        "luong_monotonic_attention/vars",
        [()],
        ["attention_score_bias"],
    ),
    "one scalar": ("mine/vars", [()], ["attention_scalar"]),
    "cell": (
        "vars",
        [(2, 9), (3, 9), (2, 9)],
        ["kernel", "recurrent_kernel", "bias"],
    ),
    "dense": ("vars", [(2, 3), (3,)], ["kernel", "bias"]),
    "norm": ("vars", [(3,), (3,)], ["gamma", "beta"]),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_ranks_tell_the_layer(kind):
    parent, shapes, fields = LAYERS[kind]
    given = [
        Stored((f"a/{parent}/{i}",), np.zeros(x)) for i, x in enumerate(shapes)
    ]
    found = name_positions(given[::-1])
    assert [x.parts[-1] for x in found] == fields
    assert [x.names[0] for x in found] == [x.names[0] for x in given]


def test_what_is_unknown_keeps_its_number():
    (found,) = name_positions([Stored(("a/vars/0",), np.zeros((2, 2, 2)))])
    assert found.names == ("a/vars/0",)
