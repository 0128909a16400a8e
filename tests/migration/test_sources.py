"""read_variables: weights of any source; select: some of them."""

import numpy as np
import pytest

from keras_attention.migration.sources import read_variables
from keras_attention.migration.sources import select

ONE = np.ones((2, 3), "float32")
NAMES = ["a/wrapper/kernel:0", "a_2/wrapper/kernel:0", "b/wrapper_1/kernel:0"]


def test_optimizers_and_counters_are_no_weights():
    found = read_variables(
        {
            "a/kernel:0": ONE,
            "save_counter": np.int64(3),
            "optimizer/_variables/1": ONE,
            "optimizer/_learning_rate": np.float32(0.1),
            "optimizer/vars/2": ONE,
            "a/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES": ONE,
            "Adam/m/a/kernel:0": ONE,
        }
    )
    assert [x.names[0] for x in found] == ["a/kernel:0"]


@pytest.mark.parametrize(
    ("prefix", "count"),
    [("", 3), ("a", 1), ("a/wrapper/", 1), ("a_", 1), ("wrapper", 2)],
)
def test_a_prefix_selects(prefix, count):
    found = read_variables(dict.fromkeys(NAMES, ONE))
    assert len(select(found, prefix)) == count


def test_a_prefix_that_no_name_has():
    found = read_variables(dict.fromkeys(NAMES, ONE))
    with pytest.raises(ValueError, match="a_2/wrapper/kernel"):
        select(found, "nowhere")
