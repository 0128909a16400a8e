"""loop: any structure goes round, and buffers are written where they should."""

from typing import Any
from typing import NamedTuple

import numpy as np
import pytest
from keras import ops

from keras_attention.search import choose
from keras_attention.search import loop_while
from keras_attention.search import write


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

    def test_stops_after_the_steps(self):
        assert int(self.count_to(30, 10, ()).count) == 10

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

    def test_refuses_a_structure_that_changes(self):
        def body(pair):
            return Pair(pair.count + 1, pair.count)

        start = Pair(ops.zeros((), "int32"), None)
        with pytest.raises(ValueError, match="2 tensors to carry on after 1"):
            loop_while(lambda pair: pair.count < 3, body, start, 5)


class TestWrite:
    @pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
    def test_begins_with_zeros_of_the_same_dtype(self, dtype):
        value = ops.cast([[7], [8]], dtype)
        buffer = write(None, ops.convert_to_tensor(1, "int32"), value, 3)
        assert ops.dtype(buffer) == dtype
        got = ops.convert_to_numpy(ops.cast(buffer, "float32"))
        np.testing.assert_array_equal(got, [[[0, 7, 0]], [[0, 8, 0]]])

    def test_keeps_what_was_written(self):
        draw = np.random.default_rng(0).normal
        values = draw(size=(4, 2, 3, 5)).astype("float32")
        buffer = None
        for t in range(4):
            position = ops.convert_to_tensor(t, "int32")
            buffer = write(
                buffer, position, ops.convert_to_tensor(values[t]), 4
            )
        got = ops.convert_to_numpy(buffer)
        np.testing.assert_array_equal(got, np.moveaxis(values, 0, 2))


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

    @pytest.mark.tensorflow
    def test_onnx_chooses_too(self):
        """It has a sum of products for `where`, and 0 times infinity is NaN."""
        tf2onnx = pytest.importorskip("tf2onnx")
        runtime = pytest.importorskip("onnxruntime")
        import tensorflow as tf

        numbers = [-np.inf, -2.5, 0.0, np.nan]
        x, y = (a.ravel() for a in np.meshgrid(numbers, numbers[:3]))
        mask = ~np.isnan(x) & (np.arange(x.size) % 2 == 0)
        given = [mask, x.astype("float32"), y.astype("float32")]
        model, _ = tf2onnx.convert.from_function(
            tf.function(choose, autograph=False),
            [
                tf.TensorSpec([None], a.dtype, n)
                for a, n in zip(given, "mxy", strict=True)
            ],
            opset=18,
        )
        session = runtime.InferenceSession(model.SerializeToString())
        (found,) = session.run(None, dict(zip("mxy", given, strict=True)))
        np.testing.assert_array_equal(found, np.where(*given))
