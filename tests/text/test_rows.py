"""rows: lists of different lengths in one array."""

import numpy as np
import pytest

from keras_attention.text.rows import Rows

pytestmark = pytest.mark.tensorflow  # the package around it needs it


def test_rows_are_those_that_were_put_in():
    wanted = [[5, 6], [], [7], [8, 9, 10]]
    values = np.concatenate(wanted).astype("int32")
    offsets = np.cumsum([0, *map(len, wanted)])
    rows = Rows(values, offsets)
    assert len(rows) == 4
    assert [rows[i].tolist() for i in np.arange(4, dtype="int32")] == wanted
    assert rows.lengths().tolist() == [2, 0, 1, 3]
    assert rows.lengths(slice(1, 3)).tolist() == [0, 1]
    assert rows.lengths(slice(3, 9)).tolist() == [3]
    assert np.shares_memory(rows[3], values)
