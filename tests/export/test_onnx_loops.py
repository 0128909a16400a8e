"""What a loop of ONNX reads from outside of it, and what it keeps."""

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import onnx
    import onnxruntime

    from keras_attention.export.onnx_loops import free_invariants

# Carries a sum, what is added to it, two that change places, and one that is
# read afterwards.
MODEL = """
<ir_version: 10, opset_import: ["" : 18]>
numbers (float[2] x, int64 n) => (float[2] sum, float[2] one, float[2] last)
<float[2] w = {2, 3}, float[2] v = {5, 7}>
{
  sum, never, one, two, last = Loop (n, , x, w, x, v, v) <body = body (
      int64 i, bool more, float[2] s, float[2] a, float[2] p, float[2] q,
      float[2] e
  ) => (bool go, float[2] t, float[2] a, float[2] q, float[2] p, float[2] e) {
    go = Identity (more)
    t = If (more) <
      then_branch = yes () => (float[2] y) { y = Add (s, a) },
      else_branch = no () => (float[2] z) { z = Sub (a, q) }
    >
  }>
}
"""


@pytest.fixture
def model():
    return onnx.parser.parse_model(MODEL)


def run(model, n):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x = np.array([1, 10], "float32")
    return session.run(None, {"x": x, "n": np.array(n)})


def test_only_what_never_changes_and_is_not_read_later_is_freed(model):
    free_invariants(model.graph)
    onnx.checker.check_model(model, full_check=True)
    (loop,) = model.graph.node
    assert list(loop.input) == ["n", "", "x", "x", "v", "v"]
    assert list(loop.output) == ["sum", "one", "two", "last"]
    (body,) = [x.g for x in loop.attribute]
    assert [x.name for x in body.input] == ["i", "more", "s", "p", "q", "e"]
    assert [x.name for x in body.output] == ["go", "t", "q", "p", "e"]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_numbers_stay(model, n):
    wanted = run(model, n)
    free_invariants(model.graph)
    found = run(model, n)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found[0], [1 + 2 * n, 10 + 3 * n])
