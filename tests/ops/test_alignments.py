"""alignments: how scores become weights, by name."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.ops import get_alignment

SCORES = np.array([[[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]])
MASKS = {
    "all": None,
    "some": np.array([[[True, True, False]]]),
    "none": np.zeros((1, 1, 3), bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_weights_are_shares_of_what_is_real(name, mask):
    given = MASKS[mask]
    keep = np.ones((1, 1, 3), bool) if given is None else given
    out = to_numpy(
        get_alignment(name)(
            to_tensor(SCORES), None if given is None else to_tensor(given)
        )
    )
    assert (out >= 0).all()
    assert (np.where(keep, 0, out) == 0).all()
    np.testing.assert_allclose(out.sum(-1), keep.any(), atol=1e-12)


def test_softmax():
    out = to_numpy(get_alignment("softmax")(to_tensor(SCORES), None))
    e = np.exp(SCORES)
    np.testing.assert_allclose(out, e / e.sum(-1, keepdims=True), atol=1e-14)


@pytest.mark.parametrize("name", ["hardmax", "Softmax", "", None])
def test_an_unknown_name_lists_the_known(name):
    with pytest.raises(ValueError, match=r"`alignment`.*\('softmax'"):
        get_alignment(name)


def test_names_differ_in_how_much_they_leave_out():
    scores = to_tensor(np.array([[2.0, 1.5, 0.5, 0.2]]))
    zeros = {
        name: int((to_numpy(get_alignment(name)(scores, None)) == 0).sum())
        for name in ("softmax", "entmax15", "sparsemax")
    }
    assert zeros == {"softmax": 0, "entmax15": 1, "sparsemax": 2}
