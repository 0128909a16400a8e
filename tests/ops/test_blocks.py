"""blocks: rows of a matrix, some at a time."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.tokens import BLOCKS
from keras_attention.ops.tokens import WIDE
from keras_attention.ops.tokens import block_bounds
from keras_attention.ops.tokens import count_blocks
from keras_attention.ops.tokens import fused
from keras_attention.ops.tokens import map_rows
from keras_attention.ops.tokens import replace_rows

has_blocks = pytest.mark.skipif(
    fast_path("replace_rows") is None, reason="the compiler fuses"
)


def matrix(rows, columns=WIDE):
    return np.arange(float(rows * columns)).reshape(rows, columns)


@pytest.mark.parametrize("rows", [0, 1, 3, BLOCKS, 50])
def test_every_row_is_in_one_block(rows):
    bounds = block_bounds(rows, BLOCKS)
    covered = [row for begin, end in bounds for row in range(begin, end)]
    assert covered == list(range(rows))


@has_blocks
def test_blocks_are_for_wide_matrices_that_nothing_fuses():
    wide, narrow = (to_tensor(matrix(2, n)) for n in (WIDE, WIDE - 1))
    assert count_blocks(wide) == BLOCKS
    assert count_blocks(narrow) == 1
    with fused(True):
        assert count_blocks(wide) == 1
        with fused(False):
            assert count_blocks(wide) == BLOCKS


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_what_is_computed_is_joined(rows):
    x = matrix(rows, 5)

    def function(x):
        return [ops.sum(x, axis=1), x[:, :2]]

    found = map_rows(function, to_tensor(x), 3)
    np.testing.assert_array_equal(to_numpy(found[0]), x.sum(1))
    np.testing.assert_array_equal(to_numpy(found[1]), x[:, :2])


@has_blocks
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_rows_are_replaced(rows):
    x, y = matrix(rows, 5), np.arange(float(rows))
    given = to_tensor(x)
    found = replace_rows(
        lambda x, y: 2 * x + y[:, None], [given, to_tensor(y)], 3
    )
    np.testing.assert_array_equal(to_numpy(found), 2 * x + y[:, None])
    np.testing.assert_array_equal(to_numpy(given), x)  # and not in x itself
