"""noise: what is drawn before the loop, and split again in a step."""

import numpy as np
import pytest
from gradients import to_numpy

from keras_attention import DotAttention
from keras_attention import Monotonic
from keras_attention.attention.sequences import draw_noise
from keras_attention.attention.sequences import split_noise

SHAPE = (3, 2, 1, 5)  # steps, rows, beams, words
NOISY = Monotonic(sigmoid_noise=1.0)


@pytest.mark.parametrize(
    ("dropout", "alignment", "kinds"),
    [
        (0.0, "softmax", (False, False)),
        (0.5, "softmax", (True, False)),
        (0.0, NOISY, (False, True)),
        (0.5, NOISY, (True, True)),
    ],
)
def test_what_is_drawn_comes_apart_again(dropout, alignment, kinds):
    layer = DotAttention(dropout=dropout, alignment=alignment, seed=1)
    noise = draw_noise(layer, layer.aligner, SHAPE)
    if not any(kinds):
        assert noise is None
    parts = split_noise(layer, None if noise is None else noise[0])
    assert tuple(part is not None for part in parts) == kinds
    for part in parts:
        assert part is None or tuple(part.shape) == SHAPE[1:]
    if kinds[0]:
        assert set(np.unique(to_numpy(parts[0]))) <= {0.0, 2.0}
    if kinds[1]:
        assert len(np.unique(to_numpy(parts[1]))) == 10
