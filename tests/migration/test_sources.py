"""read_variables: weights of any source; select: some of them."""

import keras
import ml_dtypes
import numpy as np
import pytest
import samples
from gradients import to_numpy

from keras_attention import load_tfa_weights
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


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64"])
def test_any_floating_point_is_a_weight(dtype):
    cell = keras.layers.Dense(3)
    cell.build((None, 2))
    kernel = samples.draw(2, 3).astype(dtype)
    load_tfa_weights(cell, {"a/kernel": kernel, "a/bias": np.ones(3, dtype)})
    got = to_numpy(cell.kernel)
    np.testing.assert_allclose(got, kernel.astype("float64"), atol=1e-6)


@pytest.mark.parametrize(
    ("prefix", "count"),
    [("", 3), ("a", 1), ("a/wrapper/", 1), ("a_", 1), ("wrapper", 2)],
)
def test_a_prefix_selects(prefix, count):
    found = read_variables(dict.fromkeys(NAMES, ONE))
    assert len(select(found, prefix)) == count


@pytest.mark.parametrize("name", ["damaged.h5", "ckpt-1.index"])
def test_a_file_that_is_none_of_these_says_so(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing that Keras wrote")
    with pytest.raises(ValueError, match=f"{name}', a file that cannot be"):
        read_variables(tmp_path / name)


def test_a_prefix_that_no_name_has():
    found = read_variables(dict.fromkeys(NAMES, ONE))
    with pytest.raises(ValueError, match="a_2/wrapper/kernel"):
        select(found, "nowhere")
