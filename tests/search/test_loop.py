"""loop: any structure goes round, and buffers are written where they should."""

from typing import Any
from typing import NamedTuple

import numpy as np
import pytest
from keras import ops

from keras_attention.search import choose
from keras_attention.search import loop_while


class Pair(NamedTuple):
    count: Any
    rest: Any


class TestLoopWhile:
    def count_to(self, limit, steps, rest):
        def body(pair):
            return Pair(pair.count + 1, pair.rest)

        start = Pair(ops.zeros((), "int32"), rest)
        return loop_while(lambda pair: pair.count < limit, body, start, steps)

    def test_stops_when_finished(self):
        assert int(self.count_to(3, 10, ()).count) == 3

    @pytest.mark.parametrize(
        "rest", [(), None, [None], {"b": None, "a": (np.ones(2), [])}]
    )
    def test_structure_comes_back(self, rest):
        found = self.count_to(2, 10, rest)
        assert isinstance(found, Pair)
        assert type(found.rest) is type(rest)
        if isinstance(rest, dict):
            assert found.rest["b"] is None
            assert found.rest["a"][1] == []
            np.testing.assert_array_equal(
                ops.convert_to_numpy(found.rest["a"][0]), np.ones(2)
            )
        elif rest:
            assert found.rest == [None]


class TestChoose:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_takes_infinite_numbers_as_they_are(self, dtype):
        numbers = np.array([-np.inf, -1e30, -2.5, 0.0, 3.0], dtype)
        x, y = np.meshgrid(numbers, numbers)
        for mask in (x > y, np.array([True, False, True, False, False])):
            found = choose(*[ops.convert_to_tensor(a) for a in (mask, x, y)])
            assert ops.dtype(found) == dtype
            np.testing.assert_array_equal(
                ops.convert_to_numpy(found), np.where(mask, x, y)
            )

    def test_what_is_not_taken_may_be_nan(self):
        x, y = np.array([1.0, np.nan]), np.array([np.nan, 2.0])
        mask = np.array([True, False])
        found = choose(*[ops.convert_to_tensor(a) for a in (mask, x, y)])
        assert ops.convert_to_numpy(found).tolist() == [1.0, 2.0]
