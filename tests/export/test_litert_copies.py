"""Files that XNNPACK copies nothing of, and the fault that they avoid."""

import json

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter
    from litert_operations import copies

    from keras_attention.export import run_litert
    from keras_attention.export.litert_copies import without_copies
    from keras_attention.export.portable import quiet
    from keras_attention.export.portable import run_program

    INPUT = [tf.TensorSpec([None, None, 6], tf.float32, "x")]

KERNEL = np.random.default_rng(0).normal(size=(6, 5)).astype("float32")


def convert(function, specs=None):
    traced = tf.function(function, specs or INPUT, autograph=False)
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [traced.get_concrete_function()], tf.Module()
        )
        return bytes(converter.convert())


def reshapes(x):
    return tf.reshape(tf.reshape(x, (-1, 24)) + 1.0, (-1, 4, 6))


def expands(x):
    pairs = tf.expand_dims(x, 2) * tf.expand_dims(x, 1)
    return tf.reduce_sum(pairs, axis=-1)


def splits(x):
    first, second = tf.split(x, 2, axis=-1)
    return first * second


def concatenates(x):
    return tf.tanh(tf.concat([2.0 * x, x[..., :2], -x], axis=-1))


def multiplies(x):
    return tf.matmul(tf.tanh(x[:, 0]), KERNEL)


def loops(x):
    def step(i, x):
        left, right = tf.split(tf.tanh(x), 2, axis=-1)
        return i + 1, tf.concat([right, left + 1.0], axis=-1)

    return tf.while_loop(lambda i, _: i < 3, step, (0, x))[1]


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (reshapes, {"RESHAPE"}),
        (expands, {"EXPAND_DIMS"}),
        (splits, {"SPLIT"}),
        (concatenates, {"CONCATENATION"}),
        (multiplies, {"FULLY_CONNECTED"}),
        (loops, {"SPLIT", "CONCATENATION"}),
    ],
)
def test_results_are_the_same_without_copies(function, kinds):
    """Through one interpreter, as batches grow and shrink."""
    content = convert(function)
    assert copies(content) >= kinds
    content = without_copies(content)
    assert copies(content) == set()
    run = Interpreter(model_content=content).get_signature_runner()
    draw = np.random.default_rng(0).normal
    for rows in (1, 2, 4, 8, 3, 16, 1):
        x = draw(size=(rows, 4, 6)).astype("float32")
        (found,) = run(x=x).values()
        wanted = function(tf.constant(x))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


# The fault itself, in a model without our code.

UNITS = 256
GROWING = [(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (3, 4, 6, 9, 13, 19, 28)]


def outgrows_its_workspace():
    """Return a loop whose first copy is followed by what needs more memory.

    What the copy writes is also a result of the step, so that it lies where
    the memory of the step begins.
    """
    draw = np.random.default_rng(0)
    first, second, third = (
        tf.constant(draw.normal(size=x) / x[0] ** 0.5, tf.float32)
        for x in ((64, UNITS), (UNITS, UNITS + 64), (UNITS + 64, 64))
    )

    def step(_, x, i):
        copied = y = tf.reshape(x @ first, (-1, 4, UNITS // 4))
        for _ in range(8):  # not by XNNPACK
            y += tf.cumsum(y, axis=1) / 4
        y = tf.tanh(tf.reshape(y, (-1, UNITS)) @ second)
        return copied, tf.tanh(y @ third), i + 1

    def loop(x):
        start = tf.zeros((tf.shape(x)[0], 4, UNITS // 4)), x, 0
        return {"y": tf.while_loop(lambda *x: x[-1] < 3, step, start)[1]}

    return loop


@pytest.fixture(scope="module")
def growing():
    spec = tf.TensorSpec([None, 64], tf.float32, "x")
    return convert(outgrows_its_workspace(), [spec])


def count_wrong(content, folder):
    """Count the results that differ from those without XNNPACK."""
    path, wrong = folder / "x.tflite", 0
    path.write_bytes(content)
    draw = np.random.default_rng(1).normal
    for sizes in GROWING:
        given = [{"x": draw(size=(n, 64)).astype("float32")} for n in sizes]
        question = json.dumps(given, default=run_litert.to_json)
        answers = [
            json.loads(
                run_program(
                    "LiteRT file",
                    "run_litert.py",
                    [path, "serving_default", kernels],
                    question,
                ),
                object_hook=run_litert.from_json,
            )
            for kernels in ("default", "own")
        ]
        for x, y in zip(*answers, strict=True):
            wrong += not np.allclose(x["y"], y["y"], atol=1e-3)
    return wrong


def test_nothing_is_wrong_without_copies(growing, tmp_path):
    assert count_wrong(without_copies(growing), tmp_path) == 0


@pytest.mark.xfail(reason="XNNPACK of LiteRT 2.1 to 2.3 skips copies")
def test_xnnpack_has_been_fixed(growing, tmp_path):
    """If it passes, `litert_copies.py` can go once older versions are gone."""
    assert count_wrong(growing, tmp_path) == 0
