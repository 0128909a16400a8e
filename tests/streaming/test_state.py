"""The state of a stream: what is kept of the memory."""

import pytest
from keras import ops
from samples import to_numpy

from keras_attention.attention import Memory
from keras_attention.streaming import StreamState


def make_state(heads, left=(9, 9), count=5, size=4) -> StreamState:
    """Make a state of two rows, and of one attention a column of heads."""
    columns = ops.cast(ops.arange(size, dtype="int32"), "float32")
    keys = ops.tile(columns[None, :, None], (2, 1, 1))
    return StreamState(
        encoder=[],
        decoder=[],
        keys=[keys],
        values=[keys],
        mask=ops.ones((2, size), "bool"),
        count=ops.full((2,), count, "int32"),
        heads=[ops.convert_to_tensor(x, "int32") for x in heads],
        word=ops.full((2,), 2, "int32"),
        left=ops.convert_to_tensor(left, "int32"),
    )


@pytest.mark.parametrize(
    ("heads", "befores", "left", "needed"),
    [
        ([[3, 4]], [0], (9, 9), 2),
        ([[5, 5]], [0], (9, 9), 1),  # all is passed
        ([[3, 4]], [2], (9, 9), 4),
        ([[3, 4], [2, 5]], [0, 0], (9, 9), 3),  # the slowest attention
        ([[3, 4]], [0], (0, 9), 1),  # a row that has ended needs nothing
        ([[0, 1]], [3], (9, 9), 5),  # not what was before the source
    ],
)
def test_what_some_row_may_need(heads, befores, left, needed):
    assert int(make_state(heads, left).needed(befores)) == needed


def test_parts_are_added_and_passed_ones_dropped():
    state = make_state([[3, 4]])
    assert to_numpy(state.places).tolist() == [[1, 2, 3, 4]] * 2
    part = ops.full((2, 3, 1), 7.0)
    real = ops.zeros((2, 3), "bool")
    state = state.extended([part], [Memory(part, part)], real)
    assert to_numpy(state.count).tolist() == [8, 8]
    state = state.kept(4)
    keys = to_numpy(state.keys[0])[0, :, 0]
    assert keys.tolist() == [3, 7, 7, 7]
    assert to_numpy(state.mask)[0].tolist() == [True, False, False, False]
    state = state.widened(6)
    wider = [False, False, True, False, False, False]
    assert to_numpy(state.mask)[0].tolist() == wider
    assert to_numpy(state.places)[0].tolist() == [2, 3, 4, 5, 6, 7]
    assert state.widened(6) is state
