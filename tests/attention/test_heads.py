"""heads: rows and back, masks, projections; the rest is in test_multi_head."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor

from keras_attention.attention import heads

B, T, H, D = 2, 3, 4, 5


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("rest", [(), (D,), (D, 2)])
def test_rows_are_heads_of_one_batch(rest):
    x = draw(B, T, H, *rest)
    rows = heads.as_rows(heads.heads_first(to_tensor(x), H))
    for b in range(B):
        for h in range(H):
            found = to_numpy(rows)[b * H + h]
            np.testing.assert_array_equal(found, x[b, :, h])
    back = heads.heads_last(heads.from_rows(rows, H), H)
    np.testing.assert_array_equal(to_numpy(back), x)


@pytest.mark.parametrize(
    "shape", [(D,), (T, D), (1, T, D), (B, 1, D), (B, T, 1)]
)
def test_masks_belong_to_their_rows(shape):
    mask = draw(*shape) > 0
    found = to_numpy(heads.mask_rows(to_tensor(mask), B, H))
    whole = np.broadcast_to(mask, (B, T, D))
    rows = np.broadcast_to(found, (B * H, T, D))
    np.testing.assert_array_equal(rows, np.repeat(whole, H, axis=0))
    assert heads.mask_rows(None, B, H) is None


def test_projections_are_those_of_each_head():
    x, kernel = draw(B, T, D), draw(D, H, 2)
    found = to_numpy(heads.project(to_tensor(x), to_tensor(kernel)))
    wanted = np.einsum("btd,dhu->bthu", x, kernel)
    np.testing.assert_allclose(found, wanted, atol=1e-14)
    back = to_numpy(heads.below(to_tensor(draw(H, 2, D))))
    np.testing.assert_array_equal(back, draw(H, 2, D).reshape(-1, D))
