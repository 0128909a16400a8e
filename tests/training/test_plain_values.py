"""Plain values: what is read is what was written, in type and value."""

import collections
import json
import math
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.training.plain_values import is_plain
from keras_attention.training.plain_values import pack
from keras_attention.training.plain_values import unpack

VALUES = {
    "numbers": [1, 0.1, True, None, 2**70, -0.0, math.inf],
    "collections": {"a": (1, [2, {3}]), 4: {}, (5, "b"): []},
    "text": ["", "ü\n\0", Path("a/b")],
    "operations": {"best": ops.less, "worst": ops.greater},
}


def read_again(value):
    arrays = []
    packed = json.loads(json.dumps(pack(value, arrays)))
    return unpack(packed, arrays)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_come_back(value):
    found = read_again(value)
    assert found == value
    assert repr(found) == repr(value)  # and their types


def test_nan_comes_back():
    assert math.isnan(read_again(math.nan))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0, dtype="float32").reshape(2, 3).T,
        np.array(["ü", "abc"]),
        np.array([b"x", b"yz"]),
        np.array(["2026-11-22"], "datetime64[D]"),
        np.zeros((0, 3), "int64"),
        np.float64(0.1),
        np.bool_(True),
        np.str_("abc"),
    ],
    ids=lambda x: f"{x.dtype}",
)
def test_arrays_come_back(array):
    found = read_again({"x": array})["x"]
    assert type(found) is type(array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == np.ascontiguousarray(array).tobytes()


def test_tensors_come_back_as_arrays():
    for dtype in ("float32", "bfloat16", "float16", "int8"):
        tensor = ops.cast(ops.convert_to_tensor([[1.5, -2.0]]), dtype)
        found = read_again(tensor)
        expected = ops.convert_to_numpy(tensor)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_arrays_that_were_read_can_be_changed():
    found = read_again(np.zeros(3))
    found += 1
    assert found.sum() == 3


@pytest.mark.parametrize(
    "value",
    [
        object(),
        len,
        lambda: 0,
        keras.layers.Dense,
        np.array([object()]),
        collections.deque([1]),
        collections.Counter("ab"),
        [1, {"a": iter([])}],
        1j,
    ],
)
def test_nothing_else_is_plain(value):
    assert not is_plain(value)
    with pytest.raises(TypeError, match="no plain value"):
        pack(value, [])


def test_what_contains_itself_is_not_plain():
    circle = []
    circle.append(circle)
    assert not is_plain(circle)
