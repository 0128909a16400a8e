"""AttentionalLayer: the vector, the outputs, the meaning of "auto"."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.decoder.output import AttentionalLayer
from keras_attention.decoder.output import resolve_output

DRAW = np.random.default_rng(0).normal
STATE, CONTEXT, KERNEL = DRAW(size=(2, 3)), DRAW(size=(2, 4)), DRAW(size=(7, 5))


def join(layer, *contexts):
    output, attentional = layer.join(
        to_tensor(STATE), [to_tensor(x) for x in contexts]
    )
    return to_numpy(output), None if attentional is None else to_numpy(
        attentional
    )


def test_it_is_luongs_equation_5():
    layer = AttentionalLayer(
        "attention", ops.tanh, to_tensor(KERNEL), to_tensor(np.arange(5.0))
    )
    both = np.concatenate([STATE, CONTEXT], 1)
    wanted = np.tanh(both @ KERNEL + np.arange(5))
    for got in join(layer, CONTEXT):
        np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_without_a_kernel_it_is_the_context():
    output, attentional = join(AttentionalLayer("attention"), CONTEXT)
    np.testing.assert_array_equal(output, CONTEXT)
    np.testing.assert_array_equal(attentional, CONTEXT)


def test_contexts_of_several_attentions_follow_each_other():
    _, attentional = join(AttentionalLayer("cell"), CONTEXT, 2 * CONTEXT)
    wanted = np.concatenate([CONTEXT, 2 * CONTEXT], 1)
    np.testing.assert_array_equal(attentional, wanted)


def test_the_outputs():
    output, _ = join(AttentionalLayer("cell"), CONTEXT)
    np.testing.assert_array_equal(output, STATE)
    output, _ = join(AttentionalLayer("concat"), CONTEXT)
    np.testing.assert_array_equal(output, np.concatenate([STATE, CONTEXT], 1))


def test_without_context_it_is_the_state():
    output, attentional = join(AttentionalLayer("cell"))
    np.testing.assert_array_equal(output, STATE)
    assert attentional is None


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("auto", False, True), "concat"),
        (("auto", True, True), "attention"),
        (("auto", True, False), "cell"),
        (("cell", True, True), "cell"),
        (("concat", True, True), "concat"),
    ],
)
def test_auto_is_resolved(arguments, wanted):
    assert resolve_output(*arguments) == wanted
