"""StateLayout: one flat list, parted and completed."""

import keras
import numpy as np
import pytest
import samples
from keras import ops
from samples import draw

from keras_attention.decoder.states import StateLayout

LAYOUT = StateLayout(cell_sizes=[4, 4, 6], fed_size=7, attention_count=2)
SIZES = [4, 4, 6, 7, 5, 5]


def states(sizes=SIZES):
    return [
        draw(2, size, seed=i, dtype="float32") for i, size in enumerate(sizes)
    ]


def test_parts_come_in_order():
    every = states()
    assert LAYOUT.split(every) == (every[:3], every[3:4], every[4:])


def test_parts_may_be_empty():
    every = states([4])
    assert StateLayout([4], 0, 0).split(every) == (every, [], [])
    every = states([4, 5])
    assert StateLayout([4], 0, 1).split(every) == (every[:1], [], every[1:])


@pytest.mark.parametrize("count", [0, 3, 5, 7])
def test_a_step_needs_all_states(count):
    with pytest.raises(ValueError, match=f"6 states. Received: {count}"):
        LAYOUT.split([*states(), *states()][:count])


def equal(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(samples.to_numpy(x), samples.to_numpy(y))


def test_the_states_of_the_cells_are_completed():
    *own, _, first, second = states()
    found = LAYOUT.complete(own, [first, second], "float32")
    equal(found, [*own, np.zeros((2, 7)), first, second])


def test_the_fed_back_vector_has_an_axis_of_beams_like_the_states():
    own = [draw(2, 3, size) for size in SIZES[:3]]
    found = LAYOUT.complete(own, [], "float32")
    assert tuple(found[3].shape) == (2, 3, 7)


def test_complete_states_stay_as_they_are():
    every = states()
    others = [np.zeros_like(x) for x in every[4:]]
    equal(LAYOUT.complete(every, others, "float32"), every)


def test_those_of_the_attentions_keep_their_own_dtype():
    every = [ops.convert_to_tensor(x) for x in states()]
    found = LAYOUT.complete(every, every[4:], "float16")
    dtypes = [keras.backend.standardize_dtype(x.dtype) for x in found]
    assert dtypes == [*["float16"] * 4, *["float32"] * 2]


@pytest.mark.parametrize(
    "sizes", [[], [4, 4], [4, 4, 6, 7], [4, 4, 5], [4, 4, 6, 6, 5, 5]]
)
def test_refuses_states_that_do_not_fit(sizes):
    with pytest.raises(ValueError, match="StateBridge") as error:
        LAYOUT.complete(states(sizes), [], "float32")
    assert f"states of sizes {sizes}" in str(error.value)
