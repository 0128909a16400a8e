"""loop_while: any structure goes round."""

from typing import Any
from typing import NamedTuple

import numpy as np
import pytest
from keras import ops

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

    def test_each_step_gets_tensors_in_the_first_structure(self):
        def body(carry):
            assert isinstance(carry, tuple)
            assert ops.is_tensor(carry[1])
            return [carry[0] + 1, np.ones(2, "float32")]

        start = ops.zeros((), "int32"), np.zeros(2, "float32")
        found = loop_while(lambda carry: carry[0] < 3, body, start, 9)
        assert isinstance(found, tuple)
        np.testing.assert_array_equal(
            ops.convert_to_numpy(found[1]), np.ones(2)
        )
